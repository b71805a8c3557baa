import { invalidAt } from '../core/errors.ts';
import { isTrue, select, Unevaluable, untyped } from './evaluate.ts';
import { parseGuard } from './guard.ts';
import { ownValue } from './order-key.ts';
import type { Expression, Operand, Path } from './tree.ts';

/**
 * Parses a condition over untyped JSON: `when` of a posting rule over `payload` (decisions, section 9).
 * @param names allowed first names of a path, e.g. `['payload']`
 * @param path path of the condition in the request, for the issue
 * @throws `validation_failed`
 */
export function parseCondition(text: string, names: readonly string[], path: string): Expression {
  const tree = parseGuard(text, path);
  const foreign = pathsOf(tree).find(({ names: [first] }) => !names.includes(first));
  if (foreign === undefined) return tree;
  throw invalidAt(
    path,
    'invalid_expression',
    `Unknown name: ${foreign.names.join('.').slice(0, 80)} (at character ${foreign.at}).`,
  );
}

/**
 * Whether the condition is true; false when it cannot be evaluated.
 * @param values the JSON value of each name
 * @param now ms
 */
export function evaluateCondition(
  condition: Expression,
  values: Readonly<Record<string, unknown>>,
  now: number,
): boolean {
  const value = ({ names: [first, ...rest] }: Path) => {
    if (!Object.hasOwn(values, first)) throw new Unevaluable(`no ${first}`);
    return untyped(select(ownValue(values, first), rest));
  };
  return isTrue(condition, { now, value });
}

function pathsOf(expression: Expression): Path[] {
  const among = (operands: readonly Operand[]): Path[] =>
    operands.filter((operand) => operand.kind === 'path');
  switch (expression.kind) {
    case 'and':
    case 'or':
      return expression.of.flatMap(pathsOf);
    case 'not':
      return pathsOf(expression.of);
    case 'compare':
      return among([expression.left, expression.right]);
    case 'in':
      return among([expression.left]);
    case 'has':
      return [expression.path];
    case 'text':
      return among([expression.target, expression.argument]);
    case 'literal':
    case 'number':
    case 'instant':
    case 'now':
    case 'path':
      return among([expression]);
    default:
      return expression satisfies never;
  }
}
