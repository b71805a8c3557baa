import { compareKeys, hasText, satisfies } from './compare.ts';
import { decimalKey } from './decimal.ts';
import { ownValue } from './order-key.ts';
import { instantKey, instantOf } from './times.ts';
import type { CompareOperator, Expression, FieldType, Operand, Path } from './tree.ts';

/** Value of an operand at run time. Numbers are order keys, so that no digit is lost. */
export type Value =
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'text' | 'number' | 'instant'; readonly value: string }
  /** An object, a list, or a value of a `json` field: it is not null, and can be compared only with null. */
  | { readonly kind: 'other' };

/** Thrown when an expression has no result: a value has a type that cannot be used there, or a name is unknown. */
export class Unevaluable extends Error {
  override readonly name = 'Unevaluable';
}

export interface Scope {
  /** @throws {Unevaluable} for an unknown name */
  readonly value: (path: Path) => Value;
  /** ms */
  readonly now: number;
}

const NULL: Value = { kind: 'null' };

/** Whether an expression is true; false when it cannot be evaluated. */
export function isTrue(expression: Expression, scope: Scope): boolean {
  try {
    return evaluate(expression, scope);
  } catch (error) {
    if (error instanceof Unevaluable) return false;
    throw error;
  }
}

/** Evaluates from left to right and stops when the result is known. */
function evaluate(expression: Expression, scope: Scope): boolean {
  switch (expression.kind) {
    case 'and':
      return expression.of.every((each) => evaluate(each, scope));
    case 'or':
      return expression.of.some((each) => evaluate(each, scope));
    case 'not':
      return !evaluate(expression.of, scope);
    case 'compare':
      return compare(
        operandValue(expression.left, scope),
        expression.operator,
        operandValue(expression.right, scope),
      );
    case 'in': {
      const left = operandValue(expression.left, scope);
      return expression.list.some((item) => compare(left, '==', operandValue(item, scope)));
    }
    case 'has':
      return scope.value(expression.path).kind !== 'null';
    case 'text': {
      const [text, part] = [scope.value(expression.target), operandValue(expression.argument, scope)];
      if (text.kind === 'null' || part.kind === 'null') return false;
      if (text.kind !== 'text' || part.kind !== 'text') throw new Unevaluable('not a text');
      return hasText(text.value, expression.function, part.value);
    }
    case 'literal':
    case 'number':
    case 'instant':
    case 'now':
    case 'path':
      return condition(operandValue(expression, scope));
    default:
      return expression satisfies never;
  }
}

function condition(value: Value): boolean {
  if (value.kind === 'null') return false;
  if (value.kind !== 'boolean') throw new Unevaluable('neither true nor false');
  return value.value;
}

function operandValue(operand: Operand, scope: Scope): Value {
  switch (operand.kind) {
    case 'literal':
      return untyped(operand.value);
    case 'number':
      return number(operand.text);
    case 'instant':
      return { kind: 'instant', value: instantKey(operand.ms) };
    case 'now':
      return { kind: 'instant', value: instantKey(scope.now) };
    case 'path':
      return scope.value(operand);
    default:
      return operand satisfies never;
  }
}

/** @throws {Unevaluable} when values of these kinds cannot be compared with this operator */
function compare(left: Value, operator: CompareOperator, right: Value): boolean {
  const isEquality = operator === '==' || operator === '!=';
  if (left.kind === 'null' || right.kind === 'null') {
    const equal = left.kind === right.kind;
    return isEquality && equal === (operator === '==');
  }
  const keys = comparable(left, right);
  if (keys === undefined || (!isEquality && typeof keys[0] === 'boolean')) {
    if (!isEquality || left.kind === 'other' || right.kind === 'other') throw new Unevaluable('no order');
    return operator === '!=';
  }
  return satisfies(compareKeys(keys[0], keys[1]), operator);
}

/** Converts two values to keys of one kind; parses a text that is compared with a number or an instant. */
function comparable(left: Value, right: Value): [string, string] | [boolean, boolean] | undefined {
  if (left.kind === 'boolean' && right.kind === 'boolean') return [left.value, right.value];
  if (left.kind === 'boolean' || left.kind === 'null' || left.kind === 'other') return undefined;
  if (right.kind === 'boolean' || right.kind === 'null' || right.kind === 'other') return undefined;
  if (left.kind === right.kind) return [left.value, right.value];
  const read = (text: string, kind: string): string | undefined => {
    if (kind === 'number') return decimalKey(text);
    const ms = instantOf(text);
    return ms === undefined ? undefined : instantKey(ms);
  };
  const one = left.kind === 'text' ? read(left.value, right.kind) : left.value;
  const other = right.kind === 'text' ? read(right.value, left.kind) : right.value;
  const mixed = left.kind !== 'text' && right.kind !== 'text';
  return mixed || one === undefined || other === undefined ? undefined : [one, other];
}

function number(text: string): Value {
  const key = decimalKey(text);
  if (key === undefined) throw new Unevaluable('no number');
  return { kind: 'number', value: key };
}

/** Converts a JSON value by its JSON type. */
export function untyped(value: unknown): Value {
  if (value === null || value === undefined) return NULL;
  if (typeof value === 'string') return { kind: 'text', value };
  if (typeof value === 'boolean') return { kind: 'boolean', value };
  return typeof value === 'number' ? number(String(value)) : { kind: 'other' };
}

/** Converts a record's value by the type of its field. */
export function typed(type: FieldType, value: unknown): Value {
  const found = untyped(value);
  if (type === 'json') return found.kind === 'null' ? found : { kind: 'other' };
  if (found.kind !== 'text') return found;
  if (type === 'decimal') return number(found.value);
  if (type !== 'datetime') return found;
  const ms = instantOf(found.value);
  if (ms === undefined) throw new Unevaluable('no time');
  return { kind: 'instant', value: instantKey(ms) };
}

/** Follows names into JSON; undefined for a missing member, and for any name within a list or a scalar. */
export function select(value: unknown, names: readonly string[]): unknown {
  let found = value;
  for (const name of names) {
    const isObject = typeof found === 'object' && found !== null && !Array.isArray(found);
    found = isObject ? ownValue(Object(found), name) : undefined;
  }
  return found;
}
