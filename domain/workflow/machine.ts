import { DomainError, type FieldIssue } from '../core/errors.ts';
import { checkGuard, parseGuard } from '../expressions/guard.ts';
import type { Expression, FieldSpecs } from '../expressions/tree.ts';
import { type Definition, fromStates, structureIssues, type Transition } from './definition.ts';

/** A definition compiled for running and checking: transitions by state and event, guards parsed. */

export interface Edge {
  readonly to: string;
  readonly transition: Transition;
  /** Undefined without a guard. `broken` for a guard that the code cannot parse: such a guard never holds. */
  readonly guard: Expression | 'broken' | undefined;
}

export interface Machine {
  readonly name: string;
  readonly version: number;
  readonly definition: Definition;
  /** Transitions out of a state by event, in the definition's order. */
  readonly edgesFrom: (state: string) => ReadonlyMap<string, Edge>;
  readonly hasState: (state: string) => boolean;
  readonly isFinal: (state: string) => boolean;
}

const NONE: ReadonlyMap<string, Edge> = new Map();

export const machineOf = (name: string, version: number, definition: Definition): Machine => {
  const edges = new Map<string, Map<string, Edge>>();
  const guards = guardsOf(definition);
  definition.transitions.forEach((transition, i) => {
    const edge: Edge = {
      to: transition.to,
      transition,
      // Parsed at first use, since parsing all guards at once takes long.
      get guard() {
        const { guard, issues } = guards(i);
        return issues.length > 0 ? 'broken' : guard;
      },
    };
    for (const state of fromStates(transition)) {
      const out = edges.get(state) ?? new Map<string, Edge>();
      edges.set(state, out.set(transition.event_name, edge));
    }
  });
  const states = new Map(definition.states.map((state) => [state.key, state]));
  return {
    name,
    version,
    definition,
    edgesFrom: (state) => edges.get(state) ?? NONE,
    hasState: (state) => states.has(state),
    isFinal: (state) => states.get(state)?.final === true,
  };
};

interface ParsedGuard {
  readonly guard: Expression | undefined;
  readonly issues: readonly FieldIssue[];
}

/** Caches `compute`, so that it runs at most once for each transition's index. */
const eachOnce = <T>(compute: (i: number) => T): ((i: number) => T) => {
  const known = new Map<number, T>();
  return (i) => {
    const found = known.get(i) ?? compute(i);
    known.set(i, found);
    return found;
  };
};

const guardsOf = ({ transitions }: Definition) => eachOnce((i) => guardOf(transitions[i], i));

/** The parsed guard of a transition, or the issues of its text. */
const guardOf = (transition: Transition | undefined, i: number): ParsedGuard => {
  const guard = transition?.guard;
  if (guard === undefined) return { guard: undefined, issues: [] };
  const path = `transitions.${i}.guard`;
  try {
    return { guard: parseGuard(guard, path), issues: [] };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { guard: undefined, issues: [{ path, code: 'invalid_expression', message: error.message }] };
  }
};

/** The checks of a definition, transition by transition, so that a caller can pause in between. */
export interface DefinitionChecks {
  /** Issues that prevent publishing for any entity: structure, guard syntax, names and types wrong for every entity. */
  readonly issues: () => Iterable<readonly FieldIssue[]>;
  /**
   * Further issues with these fields: guards with unknown fields or incomparable types, and missing required fields.
   */
  readonly unfitFor: (fields: FieldSpecs) => Iterable<readonly FieldIssue[]>;
}

export const checksOf = (definition: Definition): DefinitionChecks => {
  const states = definition.states.map(({ key }) => key);
  const guards = guardsOf(definition);
  const problems = (i: number, names: Parameters<typeof checkGuard>[1]): readonly string[] => {
    const { guard } = guards(i);
    return guard === undefined ? [] : checkGuard(guard, names);
  };
  /** Problems of a guard that do not depend on an entity. */
  const own = eachOnce((i) => problems(i, { states }));
  return {
    *issues() {
      yield structureIssues(definition);
      for (const i of definition.transitions.keys()) yield [...guards(i).issues, ...misfits(own(i), i)];
    },
    *unfitFor(fields) {
      for (const [i, { required_fields: required = [] }] of definition.transitions.entries()) {
        const further = problems(i, { fields }).filter((message) => !own(i).includes(message));
        yield [...misfits(further, i), ...missing(required, fields, i)];
      }
    },
  };
};

const misfits = (problems: readonly string[], i: number): readonly FieldIssue[] =>
  problems.map((message) => ({ path: `transitions.${i}.guard`, code: 'type_mismatch', message }));

const missing = (required: readonly string[], fields: FieldSpecs, i: number): readonly FieldIssue[] =>
  required.flatMap((key, k) => {
    if (Object.hasOwn(fields, key)) return [];
    const path = `transitions.${i}.required_fields.${k}`;
    return [{ path, code: 'unknown_field', message: `The entity has no field ${key}.` }];
  });
