/**
 * The expression language of guards, filters and posting rules: a subset of CEL, parsed to this tree (decisions,
 * sections 5, 6 and 9; docs/expressions.md). The object form of filters gives the same tree.
 */

/** The types of an entity's fields (decisions, section 6). */
export const FIELD_TYPES = [
  'text',
  'long_text',
  'integer',
  'decimal',
  'boolean',
  'date',
  'datetime',
  'enum',
  'reference',
  'user',
  'json',
] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** A field as expressions see it. */
export interface FieldSpec {
  readonly type: FieldType;
  /** Enums only. */
  readonly options?: readonly string[] | undefined;
}
export type FieldSpecs = Readonly<Record<string, FieldSpec>>;

/** Field keys that stores may use in paths of documents; other keys never reach a database. */
export const FIELD_KEY = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** Fields of every record in filters; an entity's field cannot have these names. */
const SYSTEM_FIELDS = ['id', 'state', 'created_at', 'updated_at'] as const;
type SystemField = (typeof SYSTEM_FIELDS)[number];

/** Type of a field in filters by its key; undefined for an unknown field. */
export function typeOfField(fields: FieldSpecs, key: string): FieldType | undefined {
  if (isSystemField(key)) return key === 'id' || key === 'state' ? 'text' : 'datetime';
  return Object.hasOwn(fields, key) ? fields[key]?.type : undefined;
}

export const isSystemField = (key: string): key is SystemField =>
  SYSTEM_FIELDS.some((field) => field === key);

/** Words that the text form cannot use as names. */
export const KEYWORDS: ReadonlySet<string> = new Set(['true', 'false', 'null', 'in']);

export const EQUALITIES = ['==', '!='] as const;
export const ORDERS = ['<', '<=', '>', '>='] as const;
type EqualityOperator = (typeof EQUALITIES)[number];
export type OrderOperator = (typeof ORDERS)[number];
export type CompareOperator = EqualityOperator | OrderOperator;

export const TEXT_FUNCTIONS = ['contains', 'startsWith', 'endsWith'] as const;
export type TextFunction = (typeof TEXT_FUNCTIONS)[number];

/** `at`: offset of the node in UTF-16 units of the text; 0 in the object form. */
interface Node {
  readonly at: number;
}

export interface Literal extends Node {
  readonly kind: 'literal';
  readonly value: string | boolean | null;
}
/** A number as written, so that no digit is lost. */
interface NumberLiteral extends Node {
  readonly kind: 'number';
  readonly text: string;
}
/** `timestamp("…")`: an instant in ms. */
interface InstantLiteral extends Node {
  readonly kind: 'instant';
  readonly ms: number;
}
/** `now()`. */
export interface Now extends Node {
  readonly kind: 'now';
}
/** A name and the members selected from it: `amount`, `record.amount`, `payload.values.total`. */
export interface Path extends Node {
  readonly kind: 'path';
  readonly names: readonly [string, ...string[]];
}
export type Constant = Literal | NumberLiteral | InstantLiteral | Now;
export type Operand = Constant | Path;

export type Expression =
  | Operand
  | (Node & { readonly kind: 'and' | 'or'; readonly of: readonly Expression[] })
  | (Node & { readonly kind: 'not'; readonly of: Expression })
  | (Node & {
      readonly kind: 'compare';
      readonly operator: CompareOperator;
      readonly left: Operand;
      readonly right: Operand;
    })
  | (Node & { readonly kind: 'in'; readonly left: Operand; readonly list: readonly Constant[] })
  | (Node & { readonly kind: 'has'; readonly path: Path })
  | (Node & {
      readonly kind: 'text';
      readonly function: TextFunction;
      readonly target: Path;
      readonly argument: Operand;
    });

/** Limits of an expression in either form (decisions, section 5). */
export const LIMITS = {
  /** UTF-8 bytes of the text, or of the object form's JSON. */
  bytes: 4096,
  /** Operators, names and literals, each counted once. */
  nodes: 200,
  /** Nesting of parentheses, `!`, lists and calls; in the object form, nesting of `$and`, `$or` and negations. */
  depth: 12,
} as const;

/** A syntax or type error of an expression, or an exceeded limit, with its place. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  /** UTF-16 units from the start of the text; 0 in the object form. */
  readonly offset: number;
  /** The dotted path, for a syntax error of the object form; otherwise the key of the field at fault, if known. */
  readonly path: string | undefined;

  constructor(message: string, offset: number, path?: string) {
    super(message);
    this.offset = offset;
    this.path = path;
  }
}

/** Counts nodes and nesting during parsing, so that neither recursion nor the tree exceeds the limits. */
export class Limits {
  #nodes = 0;
  #depth = 0;

  /** Counts a node. @throws {ExpressionError} above the limit */
  node(at: number, path?: string): { readonly at: number } {
    this.#nodes += 1;
    if (this.#nodes > LIMITS.nodes) {
      throw new ExpressionError(
        `The expression has more than ${LIMITS.nodes} operators, names and literals.`,
        at,
        path,
      );
    }
    return { at };
  }

  /** Runs `parse` one level deeper. @throws {ExpressionError} above the limit */
  nested<T>(at: number, parse: () => T, path?: string): T {
    this.#depth += 1;
    if (this.#depth > LIMITS.depth) {
      throw new ExpressionError(`The expression is nested deeper than ${LIMITS.depth} levels.`, at, path);
    }
    const result = parse();
    this.#depth -= 1;
    return result;
  }
}
