import { DomainError, existing, type FieldIssue, invalid, notFound } from '../../domain/core/errors.ts';
import { checkFields, type EntityChange, type NewEntity } from '../../domain/entities/definition.ts';
import { type Field, isName } from '../../domain/entities/fields.ts';
import { constraintViolated, type SchemaView } from '../../domain/entities/record-values.ts';
import {
  type ChangeEntity,
  changedDefinition,
  defineEntity,
  type EntitySchema,
  inUse,
  proposeChange,
  type SchemaState,
  schemaStream,
  settleChange,
} from '../../domain/entities/schema.ts';
import { type Tightening, tightenings } from '../../domain/entities/tightenings.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { StreamState } from '../core/commands/stream-states.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { WriterGate } from '../core/commands/writer-gate.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { pause } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import { type PublishedWorkflows, refuseLate, WorkflowUses } from '../workflow/workflow-uses.ts';

/** Finds a rule that a stored record violates; reads up to the present end of the log. */
export type FindBroken = (
  tenantId: string,
  entityName: string,
  rules: readonly Tightening[],
) => Promise<Tightening | undefined>;

type ChangedEntity = Written<{ readonly entity: EntitySchema }>;

/** Time (ms) within which other processes see a change, and end the writes that began before it. */
export const OTHER_PROCESSES_MS = 300;
/** A change that is not settled after this long (ms) is taken over by another process. */
const TAKEOVER_MS = 5000;
const POLL_MS = 100;

/** Name of the writers of an entity's records, for the {@link WriterGate}. */
export const writersOf = (tenantId: string, entityName: string): string => `${tenantId}/${entityName}`;

/** Use cases on schemas (decisions, section 6; docs/decisions/0012-schema-changes-are-proposed.md). */
export class Schemas extends WithDeps<{
  readonly streams: Streams;
  readonly gate: WriterGate;
  readonly workflows: PublishedWorkflows;
  readonly findBroken: FindBroken;
  readonly pause?: (ms: number) => Promise<void>;
}> {
  readonly #uses = new WorkflowUses(this.deps);
  readonly #pause = this.deps.pause ?? pause;
  readonly #running = new Map<string, Promise<unknown>>();
  /** Reads about to start, by stream. */
  readonly #asked = new Map<string, Promise<StreamState<SchemaState>>>();

  /**
   * @throws `validation_failed`, `already_exists`, `constraint_violated` for an unknown entity or workflow, `conflict`
   * when the workflow is published meanwhile
   */
  async define(tenantId: string, entity: NewEntity, context: RequestContext): Promise<ChangedEntity> {
    const { name, label, workflow = null } = entity;
    const fields = checked(entity.fields);
    const use = { tenantId, entityName: name, cause: context.cause };
    const outcome = await this.#uses.within(use, (held) =>
      this.deps.streams.of(schemaStream, tenantId, name).execute(context, {
        prepare: async ({ state }) => {
          if (state.exists) return undefined;
          await held.checkFit(workflow, fields);
          await this.#checkReferences(tenantId, name, fields);
          return held.announced(workflow);
        },
        decide: (state, { now }, announced) => {
          refuseLate(announced, now);
          return defineEntity(state, { name, label, fields, workflow });
        },
      }),
    );
    return { entity: existing(outcome.state), position: outcome.position };
  }

  /**
   * @throws `validation_failed`, `not_found`, `constraint_violated`, `in_use` when stored records violate the change,
   * `conflict` during another change, or when the workflow is published meanwhile, `read_model_behind`
   */
  async change(
    tenantId: string,
    name: string,
    change: EntityChange,
    context: RequestContext,
  ): Promise<ChangedEntity> {
    const fields = change.fields === undefined ? undefined : checked(change.fields);
    if (!isName(name)) throw notFound();
    const { label, workflow } = change;
    const changeId = context.newId();
    const wanted = { changeId, label, fields, workflow };
    const { cause } = context;
    const propose = (priorAttempt: RequestContext['priorAttempt']) =>
      this.#uses.within({ tenantId, entityName: name, cause }, (held) => {
        const schema = this.deps.streams.of(schemaStream, tenantId, name);
        return schema.execute(
          { cause, priorAttempt },
          {
            prepare: async ({ state }) => {
              if (!state.exists) return undefined;
              const to = changedDefinition(state, wanted);
              const isNew = workflow !== undefined || fields !== undefined;
              if (isNew) await held.checkFit(to.workflow, to.fields);
              if (fields !== undefined) await this.#checkReferences(tenantId, name, fields);
              return isNew && !isApplied(state, wanted) ? held.announced(to.workflow) : undefined;
            },
            decide: (state, { now }, announced) => {
              refuseLate(announced, now);
              return proposeChange(state, wanted, now);
            },
          },
        );
      });
    let { state, events, position } = await propose(context.priorAttempt);
    // The proposal of an earlier try of the request was refused and had no effect: propose the change again.
    const isOpen = state.exists && state.proposal?.id === changeId;
    const wasProposed = events.some(({ type }) => type === 'EntityChangeProposed');
    if (wasProposed && !isOpen && !isApplied(state, wanted)) {
      ({ state, events, position } = await propose(undefined));
    }
    // A change that does not restrict records needs no settling.
    if (events.at(-1)?.type !== 'EntityChangeProposed') return { entity: existing(state), position };
    const settling = this.#settle(tenantId, name, changeId, wanted, cause);
    this.#running.set(changeId, settling);
    return settling.finally(() => this.#running.delete(changeId));
  }

  /**
   * Settles a proposal of a crashed process, after waiting for a run in this process and up to 5 s for other processes.
   */
  async resume(
    tenantId: string,
    name: string,
    changeId: string,
    age: () => number,
    cause: Cause,
  ): Promise<void> {
    const isOpen = async () => (await this.findLatest(tenantId, name))?.proposal?.id === changeId;
    await this.#running.get(changeId)?.catch(() => undefined);
    while ((await isOpen()) && age() < TAKEOVER_MS) await this.#pause(POLL_MS);
    await this.#running.get(changeId)?.catch(() => undefined);
    if (!(await isOpen())) return;
    try {
      await this.#settle(tenantId, name, changeId, undefined, cause);
    } catch (error) {
      if (!(error instanceof DomainError && ['in_use', 'conflict'].includes(error.code))) throw error;
    }
  }

  /**
   * Waits until this process's writers that started before the proposal have ended (later writers know the proposal).
   * Then checks the stored records, again after 300 ms for writers of other processes, and applies or refuses the
   * proposal.
   * @param wanted the proposed change; if it is in effect already, another process has settled the proposal
   */
  async #settle(
    tenantId: string,
    name: string,
    changeId: string,
    wanted: ChangeEntity | undefined,
    cause: Cause,
  ): Promise<ChangedEntity> {
    const settle = (isBroken: boolean) =>
      this.deps.streams
        .of(schemaStream, tenantId, name)
        .execute({ cause }, (state) =>
          wanted !== undefined && isApplied(state, wanted) ? [] : settleChange(state, changeId, isBroken),
        );
    await this.deps.gate.drained(writersOf(tenantId, name));
    const schema = await this.findLatest(tenantId, name);
    const proposal = schema?.proposal;
    if (schema !== undefined && proposal?.id === changeId) {
      const rules = tightenings(schema.fields, proposal.fields);
      let broken = await this.deps.findBroken(tenantId, name, rules);
      if (broken === undefined) {
        await this.#pause(OTHER_PROCESSES_MS);
        broken = await this.deps.findBroken(tenantId, name, rules);
      }
      if (broken !== undefined) {
        await settle(true);
        throw inUse(broken);
      }
    }
    const { state, position } = await settle(false);
    return { entity: existing(state), position };
  }

  /** The schema as stored now, for writers. @throws `not_found` */
  async requireLatest(
    tenantId: string,
    name: string,
  ): Promise<SchemaView & { readonly workflow: string | null }> {
    if (!isName(name)) throw notFound();
    const { state, revision } = await this.#refreshed(tenantId, name);
    if (!state.exists) throw notFound();
    const { fields, workflow, proposal } = state;
    return { name, fields, proposed: proposal?.fields, revision, workflow };
  }

  /** The cached schema; an unknown name is read from the store. */
  async cached(tenantId: string, name: string): Promise<EntitySchema | undefined> {
    if (!isName(name)) return undefined;
    const { state } = await this.deps.streams.of(schemaStream, tenantId, name).load();
    return state.exists ? state : this.findLatest(tenantId, name);
  }

  /** The cached fields, in order; an empty list for an unknown name. */
  async fieldsOf(tenantId: string, name: string): Promise<EntitySchema['fields']> {
    return (await this.cached(tenantId, name))?.fields ?? [];
  }

  /** The schema as stored now; undefined for an unknown name. */
  async findLatest(tenantId: string, name: string): Promise<EntitySchema | undefined> {
    const { state } = await this.#refreshed(tenantId, name);
    return state.exists ? state : undefined;
  }

  /** Calls share one read until the read starts, a microtask after the first call. */
  #refreshed(tenantId: string, name: string): Promise<StreamState<SchemaState>> {
    const stream = this.deps.streams.of(schemaStream, tenantId, name);
    const asked = this.#asked.get(stream.name);
    if (asked !== undefined) return asked;
    const reading = Promise.resolve().then(() => {
      this.#asked.delete(stream.name);
      return stream.refresh();
    });
    this.#asked.set(stream.name, reading);
    return reading;
  }

  async #checkReferences(tenantId: string, own: string, fields: readonly Field[]): Promise<void> {
    const issues: FieldIssue[] = [];
    for (const [index, { reference }] of fields.entries()) {
      if (reference === undefined || reference.entity_name === own) continue;
      if ((await this.cached(tenantId, reference.entity_name)) !== undefined) continue;
      const path = `fields.${index}.reference.entity_name`;
      issues.push({ path, code: 'reference_not_found', message: 'There is no entity with this name.' });
    }
    if (issues.length > 0) throw constraintViolated(issues);
  }
}

const checked = (definitions: NewEntity['fields']): readonly Field[] => {
  const { fields, issues } = checkFields(definitions);
  if (issues.length > 0) throw invalid(issues);
  return fields;
};

/** Whether a change is already in effect and no proposal is pending. */
const isApplied = (state: SchemaState, wanted: ChangeEntity): boolean =>
  state.exists && state.proposal === undefined && proposeChange(state, wanted, 0).length === 0;
