import { invalidAt } from '../core/errors.ts';
import { isTrue, select, typed, Unevaluable, untyped, type Value } from './evaluate.ts';
import { type GuardNames, guardProblems } from './guard-types.ts';
import { ownValue } from './order-key.ts';
import { parseExpression } from './parser.ts';
import { type Expression, ExpressionError, type FieldSpecs, type Path } from './tree.ts';

/** Guards of transitions; evaluated in memory only. */

/** Values that a guard can read (decisions, section 6). */
export interface GuardContext {
  /** The record's values. */
  readonly record: Readonly<Record<string, unknown>>;
  readonly fields: FieldSpecs;
  readonly state: string;
  readonly actor: { readonly id: string; readonly role: string };
  readonly payload: unknown;
  /** ms */
  readonly now: number;
}

/**
 * Parses a guard or condition; {@link checkGuard} checks a guard's names and types.
 * @param path path of the text in the request, for the issue
 * @throws `validation_failed`
 */
export function parseGuard(text: string, path: string): Expression {
  try {
    return parseExpression(text);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const message = `${error.message.replace(/\.$/, '')} (at character ${error.offset}).`;
    throw invalidAt(path, 'invalid_expression', message);
  }
}

/** Problems of names and types, as sentences. */
export function checkGuard(guard: Expression, names: GuardNames): readonly string[] {
  return [...new Set(guardProblems(guard, names))];
}

/** Whether the guard is true; false when it cannot be evaluated. */
export function holds(guard: Expression, context: GuardContext): boolean {
  return isTrue(guard, { now: context.now, value: (path) => valueIn(context, path) });
}

function valueIn({ record, fields, state, actor, payload, now }: GuardContext, { names }: Path): Value {
  const [first, second, ...rest] = names;
  if (first === 'payload') return untyped(select(payload, names.slice(1)));
  if (first === 'record' && second !== undefined && rest.length === 0) {
    const field = Object.hasOwn(fields, second) ? fields[second] : undefined;
    if (field !== undefined) return typed(field.type, ownValue(record, second));
  }
  if (first === 'actor' && rest.length === 0 && (second === 'id' || second === 'role')) {
    return untyped(actor[second]);
  }
  if (second === undefined && first === 'state') return untyped(state);
  if (second === undefined && first === 'now') return typed('datetime', new Date(now).toISOString());
  throw new Unevaluable(`no ${names.join('.')}`);
}
