import { z } from 'zod';
import { DomainError, type FieldIssue, invalid, notFound, violated } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type DecisionContext, folded, onlyIn, type StreamType } from '../core/stream-type.ts';
import { type Definition, sameDefinition, sizeIssues, workflowDefinition } from './definition.ts';

/**
 * A workflow of a tenant: a mutable draft, and immutable published versions (decisions, section 6, Workflow). A job
 * stays on the version it began with.
 */

// Events

const draft = z.object({ name: z.string(), definition: workflowDefinition });
export const WorkflowCreated = defineEvent('WorkflowCreated', draft);
export const WorkflowDraftSaved = defineEvent('WorkflowDraftSaved', draft);
/** Holds the definition, so that a fold needs no draft. Versions count from 1. */
export const WorkflowPublished = defineEvent(
  'WorkflowPublished',
  z.object({ name: z.string(), version: z.number().int(), definition: workflowDefinition }),
);

/**
 * An entity that runs the workflow, or will run it, is about to change. Publishing is refused until the change is
 * settled (decision 12).
 */
export const WorkflowUseAnnounced = defineEvent(
  'WorkflowUseAnnounced',
  z.object({ name: z.string(), entity_name: z.string() }),
);
/** The announced change of the entity is written or abandoned. */
export const WorkflowUseSettled = defineEvent(
  'WorkflowUseSettled',
  z.object({
    name: z.string(),
    entity_name: z.string(),
    /** Revision of the announcement. */
    announced: z.number().int(),
  }),
);

export const workflowEvents = [
  WorkflowCreated,
  WorkflowDraftSaved,
  WorkflowPublished,
  WorkflowUseAnnounced,
  WorkflowUseSettled,
] as const;
export type WorkflowEvent = EventOf<(typeof workflowEvents)[number]>;

// State

/** An announced change of an entity. */
export interface Announcement {
  /** Revision of the announcement's event; identifies the announcement. */
  readonly revision: number;
  /** ms */
  readonly at: number;
}

export interface ExistingWorkflow {
  readonly exists: true;
  readonly name: string;
  /** The newest definition, published or not. */
  readonly draft: Definition;
  /** Definition of the newest version. */
  readonly published: Definition | undefined;
  readonly publishedAt: number | undefined;
  /** Revision of each version's event, from version 1: older definitions are read from these events. */
  readonly versions: readonly number[];
  /** Names of entities whose change was ever announced: they run or ran the workflow, or their change was abandoned. */
  readonly usedBy: readonly string[];
  /** Announcements that have not been settled. */
  readonly open: readonly Announcement[];
  readonly createdAt: number;
  readonly updatedAt: number;
}
export type Workflow = { readonly exists: false } | ExistingWorkflow;

/** Bounds the state. */
export const MAX_VERSIONS = 10_000;

/** Time within which an announced change must be written, ms. */
export const ANNOUNCED_MS = 5000;
/** An announcement expires after this time (ms), in case the process that made it crashed. */
const FORGOTTEN_MS = 2 * ANNOUNCED_MS;

const underWay = (open: readonly Announcement[], now: number): readonly Announcement[] =>
  open.filter(({ at }) => now - at < FORGOTTEN_MS);

const onWorkflow = onlyIn((state: Workflow): state is ExistingWorkflow => state.exists);

export const workflowStream: StreamType<Workflow, WorkflowEvent> = {
  category: 'workflow',
  stateVersion: 2,
  initial: { exists: false },
  evolve: folded({
    WorkflowCreated: (_state, { name, definition }, { at }) => ({
      exists: true,
      name,
      draft: definition,
      published: undefined,
      publishedAt: undefined,
      versions: [],
      usedBy: [],
      open: [],
      createdAt: at,
      updatedAt: at,
    }),
    WorkflowDraftSaved: onWorkflow((state, { definition }, { at }) => ({
      ...state,
      draft: definition,
      updatedAt: at,
    })),
    WorkflowPublished: onWorkflow((state, { definition }, { at, revision }) => ({
      ...state,
      draft: definition,
      published: definition,
      publishedAt: at,
      versions: [...state.versions, revision],
      // Publishing drops expired announcements; a change that is still under way is then refused.
      open: [],
      updatedAt: at,
    })),
    WorkflowUseAnnounced: onWorkflow((state, { entity_name: name }, { at, revision }) => ({
      ...state,
      usedBy: state.usedBy.includes(name) ? state.usedBy : [...state.usedBy, name],
      open: [...underWay(state.open, at), { revision, at }],
    })),
    WorkflowUseSettled: onWorkflow((state, { announced }) => ({
      ...state,
      open: state.open.filter(({ revision }) => revision !== announced),
    })),
  }),
};

/** Whether the newest definition is published. */
export const isPublished = ({ draft, published }: ExistingWorkflow): boolean =>
  published !== undefined && sameDefinition(draft, published);

// Decide

const checkSize = (definition: Definition): void => {
  const issues = sizeIssues(definition);
  if (issues.length > 0) throw invalid(issues);
};

/** @throws `validation_failed` for a definition that is too large, `already_exists` */
export const createWorkflow = (
  state: Workflow,
  command: { readonly name: string; readonly definition: Definition },
): readonly WorkflowEvent[] => {
  checkSize(command.definition);
  if (state.exists) {
    throw new DomainError('already_exists', 'A workflow with this name already exists.', { field: 'name' });
  }
  return decided(WorkflowCreated, command);
};

/** An equal draft changes nothing. @throws `validation_failed`, `not_found` */
export const saveDraft = (state: Workflow, definition: Definition): readonly WorkflowEvent[] => {
  checkSize(definition);
  if (!state.exists) throw notFound();
  if (sameDefinition(state.draft, definition)) return [];
  return decided(WorkflowDraftSaved, { name: state.name, definition });
};

/**
 * No events when the draft is already published.
 * @param issuesOf returns every issue that prevents publishing
 * @throws `not_found`, `conflict` while an entity is about to change, `validation_failed` with every issue,
 * `constraint_violated` after 10,000 versions
 */
export const publishWorkflow = (
  state: Workflow,
  issuesOf: (definition: Definition) => readonly FieldIssue[],
  { now }: DecisionContext,
): readonly WorkflowEvent[] => {
  if (!state.exists) throw notFound();
  if (isPublished(state)) return [];
  if (underWay(state.open, now).length > 0) {
    throw new DomainError('conflict', 'An entity that runs this workflow is being changed. Try again.');
  }
  const issues = issuesOf(state.draft);
  if (issues.length > 0) throw invalid(issues);
  if (state.versions.length >= MAX_VERSIONS) {
    throw violated('version', 'too_big', `A workflow can have at most ${MAX_VERSIONS} published versions.`);
  }
  const { name, draft: definition, versions } = state;
  return decided(WorkflowPublished, { name, version: versions.length + 1, definition });
};

/** @throws `not_found` */
export const announceUse = (state: Workflow, entityName: string): readonly WorkflowEvent[] => {
  if (!state.exists) throw notFound();
  return decided(WorkflowUseAnnounced, { name: state.name, entity_name: entityName });
};

/** No events when the announcement is no longer open. */
export const settleUse = (
  state: Workflow,
  use: { readonly entityName: string; readonly announced: number },
): readonly WorkflowEvent[] => {
  if (!state.exists || !state.open.some(({ revision }) => revision === use.announced)) return [];
  return decided(WorkflowUseSettled, {
    name: state.name,
    entity_name: use.entityName,
    announced: use.announced,
  });
};
