import { DomainError, type FieldIssue, invalid } from '../../domain/core/errors.ts';
import type { Field } from '../../domain/entities/fields.ts';
import type { JobStart } from '../../domain/entities/record.ts';
import { constraintViolated } from '../../domain/entities/record-values.ts';
import type { FieldSpecs } from '../../domain/expressions/tree.ts';
import type { DefinitionChecks, Machine } from '../../domain/workflow/machine.ts';
import {
  ANNOUNCED_MS,
  type Announcement,
  announceUse,
  settleUse,
  type Workflow,
  workflowStream,
} from '../../domain/workflow/workflow.ts';
import type { Streams } from '../core/commands/streams.ts';
import { timeSlices } from '../core/concurrency/time-slices.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';

/** A published version, ready to run. */
export interface PublishedWorkflow {
  /** From 1 on. */
  readonly version: number;
  /** Key of the initial state of jobs. */
  readonly initial: string;
  readonly machine: Machine;
  /** Issues of the definition with an entity's fields, a list per transition; `path` is a path in the definition. */
  readonly checkAgainst: DefinitionChecks['unfitFor'];
}

/** The published workflow of a name, as stored now; undefined if there is none. */
export type PublishedWorkflows = (
  tenantId: string,
  name: string,
) => Promise<Omit<PublishedWorkflow, 'machine'> | undefined>;

/** The start of a job in a workflow's newest version; undefined when no version is published. */
export const newJob = async (
  workflows: PublishedWorkflows,
  tenantId: string,
  workflow: string,
): Promise<JobStart | undefined> => {
  const published = await workflows(tenantId, workflow);
  return published && { workflow, workflow_version: published.version, state: published.initial };
};

interface EntityUse {
  readonly tenantId: string;
  readonly entityName: string;
  readonly cause: Cause;
}

/** An announcement of the present change. */
interface Announced {
  readonly workflow: string;
  readonly revision: number;
}

/** Checks that a change of an entity must call while the change is decided. */
interface HeldUse {
  /** @throws `constraint_violated` if no such workflow is published, `validation_failed` if the fields do not fit */
  readonly checkFit: (workflow: string | null, fields: readonly Field[]) => Promise<void>;
  /**
   * The open announcement; undefined without a workflow. Call it after {@link checkFit}: an open announcement proves
   * that nothing was published since that check.
   */
  readonly announced: (workflow: string | null) => Promise<Announcement | undefined>;
}

/** The change must be announced in this workflow's stream before it is decided. */
class NotAnnounced extends Error {
  readonly workflow: string;

  constructor(workflow: string) {
    super(`not announced to ${workflow}`);
    this.workflow = workflow;
  }
}

/** Maximum number of tries while the entity's workflow changes concurrently. */
const TRIES = 5;

/**
 * Orders changes of entities and the publishing of their workflows by the order of events in the workflow's stream
 * (docs/decisions/0012-schema-changes-are-proposed.md).
 */
export class WorkflowUses extends WithDeps<{ streams: Streams; workflows: PublishedWorkflows }> {
  /** Runs a change; if it must be announced first, announces it and runs it again. Then settles the announcement. */
  async within<T>(use: EntityUse, change: (held: HeldUse) => Promise<T>): Promise<T> {
    let announced: Announced | undefined;
    try {
      for (let tries = 0; tries < TRIES; tries += 1) {
        try {
          return await change(this.#held(use.tenantId, announced));
        } catch (error) {
          if (!(error instanceof NotAnnounced)) throw error;
          await this.#settle(use, announced);
          announced = undefined;
          announced = await this.#announce(use, error.workflow);
        }
      }
      throw new DomainError('conflict', 'The workflow of this entity is changed too often. Try again.');
    } finally {
      await this.#settle(use, announced);
    }
  }

  #held(tenantId: string, announced: Announced | undefined): HeldUse {
    return {
      checkFit: async (name, fields) => {
        if (name === null) return;
        const workflow = await this.deps.workflows(tenantId, name);
        if (workflow === undefined) {
          const message = 'There is no published workflow with this name.';
          throw constraintViolated([{ path: 'workflow', code: 'reference_not_found', message }]);
        }
        const issues: FieldIssue[] = [];
        const slice = timeSlices.of(tenantId, 'checkWorkflowFit');
        await slice.next();
        for (const found of workflow.checkAgainst(specsOf(fields))) {
          issues.push(...found);
          if (slice.isOver) await slice.next();
        }
        if (issues.length > 0) {
          throw invalid(issues.map(({ code, message }) => ({ path: 'workflow', code, message })));
        }
      },
      announced: async (name) => {
        if (name === null) return undefined;
        if (announced?.workflow !== name) throw new NotAnnounced(name);
        const { state } = await this.deps.streams.of(workflowStream, tenantId, name).refresh();
        const open = state.exists && state.open.find(({ revision }) => revision === announced.revision);
        if (!open) throw tooLate();
        return open;
      },
    };
  }

  async #announce(use: EntityUse, workflow: string): Promise<Announced> {
    const { events } = await this.#on(use, workflow, (state) => announceUse(state, use.entityName));
    const [event] = events;
    if (event === undefined) throw new Error('the command left no announcement');
    return { workflow, revision: event.revision };
  }

  /** Ignores failures, since they only make publishing wait a little longer. */
  async #settle(use: EntityUse, announced: Announced | undefined): Promise<void> {
    if (announced === undefined) return;
    const { entityName } = use;
    const { workflow, revision } = announced;
    await this.#on(use, workflow, (state) => settleUse(state, { entityName, announced: revision })).catch(
      () => undefined,
    );
  }

  #on(use: EntityUse, workflow: string, decide: (state: Workflow) => ReturnType<typeof announceUse>) {
    return this.deps.streams
      .of(workflowStream, use.tenantId, workflow)
      .execute({ cause: { ...use.cause, impersonationLog: undefined } }, decide);
  }
}

/** Refuses a change whose announcement is too old, since publishing does not wait for ever. @throws `conflict` */
export const refuseLate = (announcement: Announcement | undefined, now: number): void => {
  if (announcement !== undefined && now - announcement.at > ANNOUNCED_MS) throw tooLate();
};

const tooLate = (): DomainError =>
  new DomainError('conflict', 'The workflow was published in the meantime. Try again.');

/** Fields of an entity for the expression language. */
export const specsOf = (fields: readonly Field[]): FieldSpecs =>
  Object.fromEntries(
    fields.map(({ key, type, options }) => [key, options === undefined ? { type } : { type, options }]),
  );
