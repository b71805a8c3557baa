import { z } from 'zod';
import { isSameJson } from '../core/canonical-json.ts';
import type { FieldIssue } from '../core/errors.ts';
import { listOf } from '../core/list-schema.ts';
import { codePoints, isStorableText } from '../core/text.ts';
import { NAME, NAME_RULE } from '../entities/fields.ts';
import { FIELD_KEY } from '../expressions/tree.ts';

/** The shape of a workflow's definition, and the checks before publishing (decisions, section 6, Workflow). */

const MAX_STATES = 100;
const MAX_TRANSITIONS = 500;
/** Maximum size of a definition's JSON in characters; keeps events, and lists of workflows, small. */
export const MAX_DEFINITION_CHARACTERS = 128 * 1024;
const MAX_REQUIRED_FIELDS = 100;
const MAX_GUARD = 4096;
const MAX_LABEL = 200;

/** Names of workflows, states and events. */
export const workflowName = z.string().regex(NAME, NAME_RULE);

const shortText = (max: number) =>
  z
    .string()
    .min(1)
    .refine((value) => codePoints(value) <= max, `The text must have at most ${max} characters.`)
    .refine(isStorableText, 'The text contains a character that cannot be stored.');

const workflowState = z.strictObject({
  key: workflowName,
  label: shortText(MAX_LABEL),
  final: z.boolean().optional(),
});

const workflowTransition = z.strictObject({
  event_name: workflowName,
  from: z.union([workflowName, listOf(workflowName, { min: 1, max: MAX_STATES })]),
  to: workflowName,
  /** CEL; checked when the workflow is published. */
  guard: shortText(MAX_GUARD).optional(),
  guard_label: shortText(MAX_LABEL).optional(),
  /** Roles that may make the transition; undefined means all roles. */
  roles: listOf(z.enum(['admin', 'operator']), { min: 1, max: 2 }).optional(),
  /** Keys of record fields that must not be empty. */
  required_fields: listOf(z.string().regex(FIELD_KEY), { max: MAX_REQUIRED_FIELDS }).optional(),
});

/** A definition without the workflow's name; unknown keys are refused. */
export const definitionShape = {
  initial: workflowName,
  states: listOf(workflowState, { max: MAX_STATES }),
  transitions: listOf(workflowTransition, { max: MAX_TRANSITIONS }),
} as const;
export const workflowDefinition = z.strictObject(definitionShape);

export type Definition = z.output<typeof workflowDefinition>;
export type Transition = Definition['transitions'][number];

export const fromStates = ({ from }: Transition): readonly string[] =>
  typeof from === 'string' ? [from] : from;

const partsOf = ({ initial, states, transitions }: Definition) => ({ initial, states, transitions });

export const sameDefinition = (one: Definition, other: Definition): boolean =>
  isSameJson(partsOf(one), partsOf(other));

/** Issues of a draft's size. */
export const sizeIssues = (definition: Definition): readonly FieldIssue[] => {
  if (JSON.stringify(definition).length <= MAX_DEFINITION_CHARACTERS) return [];
  const message = `A definition has at most ${MAX_DEFINITION_CHARACTERS} characters as JSON.`;
  return [{ path: 'transitions', code: 'too_big', message }];
};

/**
 * Issues of a definition's structure. A definition needs at least one state and distinct state keys, and transitions
 * name existing states. No transition leaves a final state, every state is reachable, and a state has at most one
 * transition per event.
 */
export const structureIssues = (definition: Definition): readonly FieldIssue[] => {
  const { initial, states, transitions } = definition;
  const issues: FieldIssue[] = [];
  const add = (path: string, code: string, message: string): void => {
    issues.push({ path, code, message });
  };
  if (states.length === 0) add('states', 'too_small', 'A workflow needs at least one state.');
  const byKey = new Map<string, Definition['states'][number]>();
  states.forEach((state, i) => {
    if (byKey.has(state.key)) add(`states.${i}.key`, 'duplicate', `The state ${state.key} is defined twice.`);
    else byKey.set(state.key, state);
  });
  const exists = (key: string, path: string): boolean => {
    if (byKey.has(key)) return true;
    add(path, 'unknown_state', `There is no state ${key}.`);
    return false;
  };
  const isInitial = exists(initial, 'initial');
  const taken = new Set<string>();
  const next = new Map<string, Set<string>>();
  transitions.forEach((transition, i) => {
    const { from, event_name: event, to } = transition;
    const isTarget = exists(to, `transitions.${i}.to`);
    fromStates(transition).forEach((key, k) => {
      const path = typeof from === 'string' ? `transitions.${i}.from` : `transitions.${i}.from.${k}`;
      if (!exists(key, path)) return;
      if (byKey.get(key)?.final === true)
        add(path, 'final_state', `No transition may leave the final state ${key}.`);
      if (taken.has(`${key}\n${event}`)) {
        add(path, 'duplicate', `The state ${key} has two transitions for ${event}.`);
      }
      taken.add(`${key}\n${event}`);
      const after = next.get(key) ?? new Set();
      if (isTarget) next.set(key, after.add(to));
    });
  });
  if (isInitial) {
    const reached = reachedFrom(initial, next);
    states.forEach(({ key }, i) => {
      if (!reached.has(key))
        add(`states.${i}.key`, 'unreachable', `No path leads from the initial state to ${key}.`);
    });
  }
  return issues;
};

const reachedFrom = (
  initial: string,
  next: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> => {
  const reached = new Set([initial]);
  for (const key of reached) for (const to of next.get(key) ?? []) reached.add(to);
  return reached;
};
