import { isOrdered, isText, keyOfLiteral } from './literals.ts';
import type {
  CompareOperator,
  Constant,
  Expression,
  FieldSpec,
  FieldSpecs,
  FieldType,
  Operand,
  Path,
} from './tree.ts';

/** Type of a name; `any` for `payload`, whose type is unknown; undefined for an unknown name. */
type Known = FieldSpec | 'any' | undefined;

const TEXT: FieldSpec = { type: 'text' };

/** The names that a guard may use. */
export interface GuardNames {
  /** Fields of the entity; undefined when the entity is unknown: every field then has type `any`. */
  readonly fields?: FieldSpecs | undefined;
  /** Keys of the states; undefined when the states are unknown. */
  readonly states?: readonly string[] | undefined;
}

const ROLES = ['admin', 'operator'];

/** Problems of a guard's names and types, as sentences. */
export function guardProblems(expression: Expression, names: GuardNames): string[] {
  const problems = (each: Expression): string[] => guardProblems(each, names);
  switch (expression.kind) {
    case 'and':
    case 'or':
      return expression.of.flatMap(problems);
    case 'not':
      return problems(expression.of);
    case 'literal':
      return typeof expression.value === 'boolean' ? [] : [notACondition('A literal')];
    case 'number':
    case 'instant':
    case 'now':
      return [notACondition('A literal')];
    case 'path': {
      const known = knownOf(expression, names);
      if (known === undefined) return [unknown(expression)];
      return known === 'any' || known.type === 'boolean' ? [] : [notACondition(nameOf(expression))];
    }
    case 'compare':
      return comparison(expression.left, expression.operator, expression.right, names);
    case 'in':
      return expression.left.kind === 'path'
        ? expression.list.flatMap((item) => comparison(expression.left, '==', item, names))
        : ['“in” needs a name before it.'];
    case 'has':
      return knownOf(expression.path, names) === undefined ? [unknown(expression.path)] : [];
    case 'text':
      return [...textProblems(expression.target, names), ...argumentProblems(expression.argument, names)];
    default:
      return expression satisfies never;
  }
}

/** Resolves a name of a guard's context (decisions, section 6). */
function knownOf({ names }: Path, { fields }: GuardNames): Known {
  const [first, second] = names;
  if (first === 'payload') return 'any';
  if (names.length === 1 && first === 'state') return TEXT;
  if (names.length === 1 && first === 'now') return { type: 'datetime' };
  if (names.length !== 2 || second === undefined) return undefined;
  if (first === 'actor') return second === 'id' || second === 'role' ? TEXT : undefined;
  if (first !== 'record') return undefined;
  if (fields === undefined) return 'any';
  return Object.hasOwn(fields, second) ? fields[second] : undefined;
}

/** Problems of comparing a name with a text that its value can never equal. */
function impossibleConstants(path: Path, literal: Constant, { states }: GuardNames): string[] {
  if (literal.kind !== 'literal' || typeof literal.value !== 'string') return [];
  const { value } = literal;
  const name = path.names.join('.');
  if (name === 'state' && states?.includes(value) === false) return [`There is no state ${shown(value)}.`];
  if (name === 'actor.role' && !ROLES.includes(value)) return [`There is no role ${shown(value)}.`];
  return [];
}

function comparison(left: Operand, operator: CompareOperator, right: Operand, names: GuardNames): string[] {
  if (left.kind !== 'path') {
    return right.kind === 'path'
      ? comparison(right, operator, left, names)
      : ['A comparison needs a name on at least one side.'];
  }
  const known = knownOf(left, names);
  const name = nameOf(left);
  const isOrder = operator !== '==' && operator !== '!=';
  const other = right.kind === 'path' ? knownOf(right, names) : undefined;
  const missing = [left, right].flatMap((each) =>
    each.kind === 'path' && knownOf(each, names) === undefined ? [unknown(each)] : [],
  );
  if (missing.length > 0) return missing;
  for (const each of [known, other]) {
    if (isOrder && typeof each === 'object' && !isOrdered(each.type)) {
      return [
        `${each === known ? name : nameOf(right)}: values of type ${each.type} have no order; use == or !=.`,
      ];
    }
  }
  if (right.kind !== 'path') {
    const problems = typeof known === 'object' ? literalProblems(name, known, right) : [];
    return isOrder ? problems : [...problems, ...impossibleConstants(left, right, names)];
  }
  const types = [known, other].map((each) => (typeof each === 'object' ? classOf(each.type) : 'any'));
  if (types.includes('json')) return [`${name} and ${nameOf(right)}: json can be compared with null only.`];
  if (types.includes('any') || types[0] === types[1]) return [];
  return [`${name} and ${nameOf(right)} are of different types.`];
}

function literalProblems(name: string, spec: FieldSpec, literal: Constant): string[] {
  // Unlike a filter, a guard compares in memory, so an integer compares with any number.
  if (spec.type === 'integer' && literal.kind === 'number') return [];
  const resolved = keyOfLiteral(spec, literal);
  return 'problem' in resolved ? [`${name} ${resolved.problem}.`] : [];
}

function textProblems(path: Path, names: GuardNames): string[] {
  const known = knownOf(path, names);
  if (known === undefined) return [unknown(path)];
  return known === 'any' || isText(known.type)
    ? []
    : [`${nameOf(path)}: contains, startsWith and endsWith need text, not ${known.type}.`];
}

function argumentProblems(argument: Operand, names: GuardNames): string[] {
  if (argument.kind === 'path') return textProblems(argument, names);
  const isString = argument.kind === 'literal' && typeof argument.value === 'string';
  return isString ? [] : ['contains, startsWith and endsWith need a string.'];
}

/** The class of a type; values of types of one class can be compared. */
function classOf(type: FieldType): string {
  if (isText(type) || type === 'enum') return 'text';
  return type === 'integer' || type === 'decimal' ? 'number' : type;
}

const nameOf = (operand: Operand): string =>
  operand.kind === 'path' ? operand.names.join('.').slice(0, 80) : 'a literal';
const shown = (value: string): string => JSON.stringify(value.slice(0, 80));
const unknown = (path: Path): string => `Unknown name: ${nameOf(path)}.`;
const notACondition = (what: string): string => `${what} is not a condition: it is neither true nor false.`;
