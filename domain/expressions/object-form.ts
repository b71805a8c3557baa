import { instantOf } from './times.ts';
import {
  type CompareOperator,
  type Constant,
  type Expression,
  ExpressionError,
  type FieldSpecs,
  LIMITS,
  Limits,
  type Path,
  typeOfField,
} from './tree.ts';

const COMPARISONS = new Map<string, CompareOperator>([
  ['$eq', '=='],
  ['$ne', '!='],
  ['$gt', '>'],
  ['$gte', '>='],
  ['$lt', '<'],
  ['$lte', '<='],
]);
const at = 0;

/**
 * Parses the object form into the tree of the text form:
 * `{field: value | {"$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte" | "$in" | "$nin" | "$exists": …}}`, `$and`, `$or`,
 * `$not`. Several keys mean "and". A date-time is an RFC 3339 string.
 * @throws {ExpressionError}
 */
export function parseObjectForm(input: object, fields: FieldSpecs): Expression {
  // The parser visits a bounded number of nodes however large the input is, so bytes can be counted afterwards.
  const expression = new ObjectParser(fields).object(input, '');
  if (new TextEncoder().encode(JSON.stringify(input)).length > LIMITS.bytes) {
    throw new ExpressionError(`The expression has more than ${LIMITS.bytes} bytes.`, at);
  }
  return expression;
}

class ObjectParser {
  readonly #fields: FieldSpecs;
  readonly #limits = new Limits();

  constructor(fields: FieldSpecs) {
    this.#fields = fields;
  }

  object(input: unknown, path: string): Expression {
    if (!isObject(input)) throw problem('A filter must be an object.', path);
    return this.#members(input, path, (key, value, place) => this.#entry(key, value, place));
  }

  /** Parses each member of an object; several members mean "and". */
  #members(
    input: object,
    path: string,
    parse: (name: string, value: unknown, path: string) => Expression,
  ): Expression {
    const entries = Object.entries(input);
    if (entries.length === 0) throw problem('The filter is empty.', path);
    const parts = entries.map(
      ([name, value]) =>
        () =>
          parse(name, value, join(path, name)),
    );
    return this.#all('and', parts, path);
  }

  #entry(key: string, value: unknown, path: string): Expression {
    if (key === '$not') return this.#not(() => this.object(value, path), path);
    if (key === '$and' || key === '$or') {
      if (!Array.isArray(value) || value.length === 0)
        throw problem('This must be a non-empty list of filters.', path);
      const kind = key === '$and' ? 'and' : 'or';
      const parts = value.map((each: unknown, nth) => () => this.object(each, join(path, String(nth))));
      return this.#limits.nested(at, () => this.#all(kind, parts, path), path);
    }
    if (key.startsWith('$')) throw problem('Unknown operator.', path);
    if (!isObject(value)) return this.#operator(key, '$eq', value, path);
    return this.#members(value, path, (operator, literal, place) =>
      this.#operator(key, operator, literal, place),
    );
  }

  #operator(field: string, name: string, value: unknown, path: string): Expression {
    const operator = COMPARISONS.get(name);
    if (operator !== undefined) {
      this.#limits.node(at, path);
      return {
        kind: 'compare',
        operator,
        left: this.#field(field, path),
        right: this.#literal(field, value, path),
        at,
      };
    }
    if (name === '$in') return this.#in(field, value, path);
    if (name === '$nin') return this.#not(() => this.#in(field, value, path), path);
    if (name !== '$exists') throw problem('Unknown operator.', path);
    if (typeof value !== 'boolean') throw problem('$exists must be true or false.', path);
    const has = (): Expression => {
      this.#limits.node(at, path);
      return { kind: 'has', path: this.#field(field, path), at };
    };
    return value ? has() : this.#not(has, path);
  }

  #in(field: string, value: unknown, path: string): Expression {
    if (!Array.isArray(value)) throw problem('This must be a list of values.', path);
    this.#limits.node(at, path);
    const left = this.#field(field, path);
    const list = value.map((each: unknown, nth) => this.#literal(field, each, join(path, String(nth))));
    return { kind: 'in', left, list, at };
  }

  #field(name: string, path: string): Path {
    this.#limits.node(at, path);
    return { kind: 'path', names: [name], at };
  }

  #literal(field: string, value: unknown, path: string): Constant {
    this.#limits.node(at, path);
    if (value === null || typeof value === 'boolean') return { kind: 'literal', value, at };
    if (typeof value === 'number') {
      if (!isExact(value)) throw problem('This number has too many digits: give it as a string.', path);
      return { kind: 'number', text: String(value), at };
    }
    if (typeof value !== 'string') throw problem('This value cannot be compared with a field.', path);
    if (!value.isWellFormed() || value.includes('\0')) {
      throw problem('A string contains NUL or half of a surrogate pair.', path);
    }
    if (typeOfField(this.#fields, field) !== 'datetime') return { kind: 'literal', value, at };
    const ms = instantOf(value);
    if (ms === undefined) throw problem('This is not an RFC 3339 time.', path);
    return { kind: 'instant', ms, at };
  }

  #not(parse: () => Expression, path: string): Expression {
    this.#limits.node(at, path);
    return { kind: 'not', of: this.#limits.nested(at, parse, path), at };
  }

  #all(kind: 'and' | 'or', parts: readonly (() => Expression)[], path: string): Expression {
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return only();
    this.#limits.node(at, path);
    return { kind, of: parts.map((part) => part()), at };
  }
}

/** Safe integers, and numbers of at most 15 digits: of any other number `JSON.parse` may have lost digits. */
const isExact = (value: number): boolean =>
  Number.isSafeInteger(value) ||
  (Number.isFinite(value) && String(value).replace(/e.*$/, '').replace(/\D/g, '').length <= 15);

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`).slice(0, 200);

const problem = (message: string, path: string): ExpressionError => new ExpressionError(message, at, path);
