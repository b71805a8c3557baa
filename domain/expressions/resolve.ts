import type { Filter, FilterField, FilterValue } from './filter-tree.ts';
import { isOrdered, isText, keyOfLiteral } from './literals.ts';
import {
  type CompareOperator,
  type Constant,
  type Expression,
  ExpressionError,
  type FieldSpec,
  type FieldSpecs,
  isSystemField,
  type Operand,
  type Path,
  typeOfField,
} from './tree.ts';

const FLIPPED: Readonly<Record<CompareOperator, CompareOperator>> = {
  '==': '==',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

/** Checks a tree as a filter over an entity's fields and resolves it. @throws {ExpressionError} */
export function resolveFilter(expression: Expression, fields: FieldSpecs): Filter {
  const resolve = (each: Expression): Filter => resolveFilter(each, fields);
  const { at } = expression;
  switch (expression.kind) {
    case 'and':
    case 'or':
      return { op: expression.kind, of: expression.of.map(resolve) };
    case 'not':
      return { op: 'not', of: resolve(expression.of) };
    case 'literal':
      if (typeof expression.value !== 'boolean') throw notACondition(at);
      return { op: 'constant', value: expression.value };
    case 'path': {
      const { field } = fieldOf(expression, fields);
      if (field.type !== 'boolean') throw notACondition(at);
      return { op: '==', field, value: true };
    }
    case 'compare':
      return compare(expression.left, expression.operator, expression.right, fields, at);
    case 'in':
      return isOneOf(expression.left, expression.list, fields);
    case 'has':
      return { op: 'has', field: fieldOf(expression.path, fields).field };
    case 'text':
      return text(expression, fields);
    case 'number':
    case 'instant':
    case 'now':
      throw notACondition(at);
    default:
      return expression satisfies never;
  }
}

function compare(
  left: Operand,
  operator: CompareOperator,
  right: Operand,
  fields: FieldSpecs,
  at: number,
): Filter {
  if (left.kind !== 'path') {
    if (right.kind === 'path') return compare(right, FLIPPED[operator], left, fields, at);
    throw new ExpressionError('A comparison must name a field.', at);
  }
  if (right.kind === 'path')
    throw new ExpressionError('A filter can compare a field only with a literal.', right.at);
  const { field, spec } = fieldOf(left, fields);
  const isOrder = operator !== '==' && operator !== '!=';
  if (isOrder && !isOrdered(field.type)) {
    throw new ExpressionError(`${field.key}: values of type ${field.type} have no order; use == or !=.`, at);
  }
  const value = comparedTo(field, spec, right);
  if (value === null) {
    // Null has no order; `== null` matches a field without a value.
    if (isOrder) return { op: 'constant', value: false };
    const has: Filter = { op: 'has', field };
    return operator === '!=' ? has : { op: 'not', of: has };
  }
  if (operator === '!=') return { op: 'not', of: { op: '==', field, value } };
  return { op: operator, field, value };
}

function isOneOf(left: Operand, list: readonly Constant[], fields: FieldSpecs): Filter {
  if (left.kind !== 'path') throw new ExpressionError('A comparison must name a field.', left.at);
  const { field, spec } = fieldOf(left, fields);
  const values = list.map((item) => comparedTo(field, spec, item));
  const given = values.filter((value) => value !== null);
  const among: Filter = { op: 'in', field, values: given };
  if (given.length === values.length) return among;
  return { op: 'or', of: [{ op: 'not', of: { op: 'has', field } }, among] };
}

function text(expression: Expression & { kind: 'text' }, fields: FieldSpecs): Filter {
  const { field } = fieldOf(expression.target, fields);
  if (!isText(field.type)) {
    throw new ExpressionError(
      `${field.key}: contains, startsWith and endsWith need text, not ${field.type}.`,
      expression.at,
    );
  }
  const { argument } = expression;
  if (argument.kind !== 'literal' || typeof argument.value !== 'string') {
    throw new ExpressionError(`${expression.function} needs a string.`, argument.at);
  }
  // Every text contains the empty text.
  if (argument.value === '') return { op: 'has', field };
  return { op: expression.function, field, text: argument.value };
}

function fieldOf(path: Path, fields: FieldSpecs): { field: FilterField; spec: FieldSpec } {
  const [key, ...rest] = path.names;
  const type = rest.length > 0 ? undefined : typeOfField(fields, key);
  if (type === undefined) {
    const shown = JSON.stringify(path.names.join('.').slice(0, 80));
    throw new ExpressionError(`There is no field ${shown}.`, path.at, key);
  }
  const system = isSystemField(key);
  return { field: { key, type, system }, spec: system ? { type } : (fields[key] ?? { type }) };
}

function comparedTo(field: FilterField, spec: FieldSpec, literal: Constant): FilterValue | null {
  const resolved = keyOfLiteral(spec, literal);
  if ('key' in resolved) return resolved.key;
  throw new ExpressionError(`${field.key} ${resolved.problem}.`, literal.at, field.key);
}

const notACondition = (at: number): ExpressionError =>
  new ExpressionError('This is not a condition: it is neither true nor false.', at);
