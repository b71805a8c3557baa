import { DomainError, existing, type FieldIssue } from '../../domain/core/errors.ts';
import { schemaStream } from '../../domain/entities/schema.ts';
import type { FieldSpecs } from '../../domain/expressions/tree.ts';
import type { Definition } from '../../domain/workflow/definition.ts';
import { checksOf, machineOf } from '../../domain/workflow/machine.ts';
import {
  createWorkflow,
  type ExistingWorkflow,
  isPublished,
  publishWorkflow,
  saveDraft,
  type Workflow,
  type WorkflowEvent,
  WorkflowPublished,
  workflowStream,
} from '../../domain/workflow/workflow.ts';
import type { Outcome, Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { timeSlices } from '../core/concurrency/time-slices.ts';
import { dataOf, type EventCodec } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import { BoundedCache } from '../core/memory/bounded-cache.ts';
import { pause } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { EventStore } from '../ports/event-store.ts';
import { MEMORY } from '../ports/memory.ts';
import { type PublishedWorkflow, specsOf } from './workflow-uses.ts';

/** Names of the entities whose records use a workflow, up to the present end of the log. */
type EntitiesUsing = (tenantId: string, workflow: string) => Promise<readonly string[]>;

type Changed = Written<{ readonly workflow: ExistingWorkflow }>;

/** Maximum number of issues of one answer. */
const MAX_ISSUES = 1000;
/** How long (ms) publishing waits for announced changes of entities. */
const WAIT_MS = 5000;
const POLL_MS = 25;

/** Use cases on workflows, and their published versions for jobs (decisions, section 6, Workflow). */
export class Workflows extends WithDeps<{
  readonly streams: Streams;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly entitiesUsing: EntitiesUsing;
  readonly pause?: (ms: number) => Promise<void>;
}> {
  readonly #pause = this.deps.pause ?? pause;
  /** Published versions by tenant, name and version; they never change. */
  readonly #kept = new BoundedCache<PublishedWorkflow>(MEMORY.workflows);

  /** @throws `validation_failed`, `already_exists` */
  async create(
    tenantId: string,
    name: string,
    definition: Definition,
    context: RequestContext,
  ): Promise<Changed> {
    const workflow = this.deps.streams.of(workflowStream, tenantId, name);
    return changed(await workflow.execute(context, (state) => createWorkflow(state, { name, definition })));
  }

  /** Saves the next draft. @throws `validation_failed`, `not_found` */
  async save(
    tenantId: string,
    name: string,
    definition: Definition,
    context: RequestContext,
  ): Promise<Changed> {
    const workflow = this.deps.streams.of(workflowStream, tenantId, name);
    return changed(await workflow.execute(context, (state) => saveDraft(state, definition)));
  }

  /**
   * Publishes the draft as the next version, checked against each entity that uses the workflow, and against the
   * proposed change of that entity.
   * @throws `not_found`, `validation_failed` with up to 1,000 issues, `conflict` if a change of such an entity is still
   * open after 5 s, `constraint_violated` after 10,000 versions, `read_model_behind`
   */
  async publish(tenantId: string, name: string, context: RequestContext): Promise<Changed> {
    const stream = this.deps.streams.of(workflowStream, tenantId, name);
    const { state: present } = await stream.refresh();
    const isDone = !present.exists || isPublished(present);
    // The stream does not name entities that already used the workflow before announcements existed.
    const known = isDone ? undefined : await this.deps.entitiesUsing(tenantId, name);
    for (let waited = 0; ; waited += POLL_MS) {
      try {
        const outcome = await stream.execute(context, {
          prepare: async ({ state }) => {
            if (!state.exists || isPublished(state)) return [];
            const using = known ?? (await this.deps.entitiesUsing(tenantId, name));
            return this.#issuesOf(tenantId, name, state.draft, new Set([...using, ...state.usedBy]));
          },
          // The draft is the one that `prepare` checked: a change of the stream in between would repeat `prepare`.
          decide: (state, at, issues) => publishWorkflow(state, () => issues, at),
        });
        return changed(outcome);
      } catch (error) {
        const isBusy = error instanceof DomainError && error.code === 'conflict';
        if (!isBusy || waited >= WAIT_MS) throw error;
        await this.#pause(POLL_MS);
      }
    }
  }

  /** Lists up to 1,000 issues, without repeats for present and proposed fields. Pauses between transitions. */
  async #issuesOf(
    tenantId: string,
    workflow: string,
    draft: Definition,
    entities: ReadonlySet<string>,
  ): Promise<readonly FieldIssue[]> {
    const checks = checksOf(draft);
    const issues = new Map<string, FieldIssue>();
    const slice = timeSlices.of(tenantId, 'publishWorkflow');
    await slice.next();
    for (const found of checks.issues()) {
      for (const issue of found) issues.set(JSON.stringify(issue), issue);
      if (slice.isOver) await slice.next();
    }
    for (const entity of entities) {
      if (slice.isOver) await slice.next();
      for (const fields of await this.#using(tenantId, entity, workflow)) {
        for (const found of checks.unfitFor(fields)) {
          for (const issue of found) {
            const named = { ...issue, message: `${entity}: ${issue.message}` };
            issues.set(JSON.stringify(named), named);
          }
          if (slice.isOver) await slice.next();
        }
      }
      if (issues.size >= MAX_ISSUES) break;
    }
    return [...issues.values()].slice(0, MAX_ISSUES);
  }

  /** The present and the proposed fields of an entity, each only if that definition uses the workflow. */
  async #using(tenantId: string, name: string, workflow: string): Promise<readonly FieldSpecs[]> {
    const { state } = await this.deps.streams.of(schemaStream, tenantId, name).refresh();
    if (!state.exists) return [];
    return [state, state.proposal].flatMap((each) =>
      each?.workflow === workflow ? [specsOf(each.fields)] : [],
    );
  }

  /** A published version, by default the newest in the store; undefined if there is none. */
  async published(tenantId: string, name: string, version?: number): Promise<PublishedWorkflow | undefined> {
    const known = version === undefined ? undefined : this.#kept.get(keyOf(tenantId, name, version));
    if (known !== undefined) return known;
    if (version !== undefined) {
      const { state } = await this.deps.streams.of(workflowStream, tenantId, name).load();
      if (state.exists && version <= state.versions.length) return this.#of(tenantId, state, version);
    }
    // The cached state may be older than another node's publication.
    const { state } = await this.deps.streams.of(workflowStream, tenantId, name).refresh();
    return state.exists ? this.#of(tenantId, state, version ?? state.versions.length) : undefined;
  }

  async #of(
    tenantId: string,
    state: ExistingWorkflow,
    version: number,
  ): Promise<PublishedWorkflow | undefined> {
    const { name, published, versions } = state;
    const key = keyOf(tenantId, name, version);
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const revision = versions[version - 1];
    if (revision === undefined) return undefined;
    const isNewest = version === versions.length && published !== undefined;
    const definition = isNewest ? published : await this.#read(tenantId, name, revision);
    const ready = {
      version,
      initial: definition.initial,
      machine: machineOf(name, version, definition),
      checkAgainst: checksOf(definition).unfitFor,
    };
    this.#kept.set(key, ready);
    this.#kept.trim();
    return ready;
  }

  async #read(tenantId: string, name: string, revision: number): Promise<Definition> {
    const stream = streamName(tenantId, workflowStream.category, name);
    const [stored] = await this.deps.events.readStream(stream, { from: revision, limit: 1 });
    const data = stored === undefined ? undefined : dataOf(WorkflowPublished, this.deps.codec.decode(stored));
    if (data === undefined) throw new Error(`${stream}@${revision} is no published workflow`);
    return data.definition;
  }
}

const keyOf = (tenantId: string, name: string, version: number): string => `${tenantId}/${name}/${version}`;

const changed = ({ state, position }: Outcome<Workflow, WorkflowEvent>): Changed => ({
  workflow: existing(state),
  position,
});
