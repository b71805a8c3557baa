import { notFound, tooBusy } from '../../domain/core/errors.ts';
import {
  type JobStart,
  type LiveRecord,
  type RecordEvent,
  type RecordState,
  recordStream,
} from '../../domain/entities/record.ts';
import {
  checkTypes,
  createRecord,
  hasWrongTypes,
  type Input,
  type Link,
  type LinkFacts,
  type Resolved,
  resolve,
  type SchemaView,
  updateRecord,
} from '../../domain/entities/record-values.ts';
import type { Outcome } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { WriterGate } from '../core/commands/writer-gate.ts';
import { isUnavailable } from '../core/concurrency/retry-policy.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';
import { newJob, type PublishedWorkflows } from '../workflow/workflow-uses.ts';
import { LinkSession, LinksChanged, type RecordLinks } from './record-links.ts';
import { type Schemas, writersOf } from './schemas.ts';

interface WrittenRecord {
  readonly record: LiveRecord;
  /** False when the values were equal to the stored values. */
  readonly changed: boolean;
  readonly position: Position | undefined;
}

type Schema = Awaited<ReturnType<Schemas['requireLatest']>>;

/** Maximum number of tries of a write whose links change while they are looked up. */
const TRIES = 5;

/** Use cases on records (decisions, section 6), also for forms and for previews and edits of bulk sessions. */
export class Records extends WithDeps<{
  readonly streams: Streams;
  readonly schemas: Schemas;
  readonly links: RecordLinks;
  readonly workflows: PublishedWorkflows;
  readonly gate: WriterGate;
}> {
  /**
   * @param id of the new record; default `context.newId()`
   * @throws `not_found` for an unknown entity, `validation_failed`, `constraint_violated`, `conflict`,
   * `payload_too_large`
   */
  async create(
    tenantId: string,
    entityName: string,
    values: Input,
    context: RequestContext,
    id: string = context.newId(),
  ): Promise<WrittenRecord> {
    const createdBy = context.cause.actor.id;
    return this.#write(
      { tenantId, entityName, id, context, input: values },
      (state, { schema, job, facts, resolved }) =>
        createRecord(state, schema, { id, values, createdBy, job }, facts, resolved),
    );
  }

  /** @throws `not_found`, `validation_failed`, `conflict`, `constraint_violated`, `payload_too_large` */
  async update(
    tenantId: string,
    entityName: string,
    id: string,
    command: { readonly values: Input; readonly ifVersion?: number | undefined },
    context: RequestContext,
  ): Promise<WrittenRecord> {
    const before = (state: RecordState) => ('values' in state ? state.values : NO_VALUES);
    return this.#write(
      { tenantId, entityName, id, context, before, input: command.values },
      (state, { schema, facts, resolved }) => updateRecord(state, schema, command, facts, resolved),
    );
  }

  /** The events that an update would append; writes and registers nothing. @throws the errors of {@link update} */
  async preview(
    tenantId: string,
    entityName: string,
    state: RecordState,
    values: Input,
  ): Promise<readonly RecordEvent[]> {
    const schema = await this.#known(tenantId, entityName);
    const before = state.status === 'live' ? state.values : {};
    const { links } = resolve(schema.fields, before, values);
    const missing = await this.#missing(tenantId, links);
    return updateRecord(state, schema, { values }, { missing, registrations: {} });
  }

  /** Field keys of references whose target does not exist. */
  async #missing(tenantId: string, links: readonly Link[]): Promise<ReadonlySet<string>> {
    const missing = new Set<string>();
    for (const link of links) if (!(await this.deps.links.exists(tenantId, link))) missing.add(link.fieldKey);
    return missing;
  }

  async #known(tenantId: string, entityName: string): Promise<SchemaView> {
    const schema = await this.deps.schemas.cached(tenantId, entityName);
    if (schema === undefined) throw notFound();
    return { name: entityName, fields: schema.fields, proposed: schema.proposal?.fields, revision: 0 };
  }

  #write(
    target: {
      readonly tenantId: string;
      readonly entityName: string;
      readonly id: string;
      readonly context: RequestContext;
      /** Gives the record's values before an update; undefined for a new record, which may start a job. */
      readonly before?: (state: RecordState) => LiveRecord['values'];
      readonly input: Input;
    },
    decide: (state: RecordState, known: KnownToWrite) => readonly RecordEvent[],
  ): Promise<WrittenRecord> {
    const { tenantId, entityName, id, context, before, input } = target;
    const { cause } = context;
    const attempt = async (): Promise<WrittenRecord | 'again'> => {
      const session = new LinkSession({
        links: this.deps.links,
        writer: { tenantId, recordId: id, entityName, cause },
      });
      const present = before?.(await this.deps.links.known(tenantId, id));
      const { fields, resolved } = await this.#resolved(tenantId, entityName, present, input);
      if (hasWrongTypes(resolved)) checkTypes(resolved, await this.#missing(tenantId, resolved.links));
      await session.register(resolved.links);
      try {
        return written(
          await this.deps.streams.of(recordStream, tenantId, id).execute(context, {
            prepare: async () => {
              const now = await this.deps.schemas.requireLatest(tenantId, entityName);
              const { workflow } = now;
              const startsJob = before === undefined && workflow !== null;
              const job = startsJob ? await newJob(this.deps.workflows, tenantId, workflow) : undefined;
              return { schema: now, job };
            },
            isNew: before === undefined,
            decide: (state, _context, { schema: now, job }) => {
              const values = before?.(state);
              // Reuses the resolved values if neither the record nor the fields have changed since.
              const isSame = values === present && now.fields === fields;
              const known = isSame ? resolved : resolve(now.fields, values, input);
              return decide(state, {
                schema: now,
                job,
                facts: session.facts(state, known.links),
                resolved: known,
              });
            },
          }),
        );
      } catch (error) {
        // An append without an answer may still be stored, so registrations stay: a target's deletion resolves them.
        if (!isUnavailable(error)) await session.release();
        if (error instanceof LinksChanged) return 'again';
        throw error;
      }
    };
    return this.deps.gate.within(writersOf(tenantId, entityName), async () => {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const result = await attempt();
        if (result !== 'again') return result;
      }
      throw tooBusy();
    });
  }

  /**
   * Resolves the input by the cached schema; the decision later compares this schema with the stored schema. Input with
   * wrong types is resolved again by the stored schema, so that an outdated schema refuses nothing.
   */
  async #resolved(
    tenantId: string,
    entityName: string,
    before: LiveRecord['values'] | undefined,
    input: Input,
  ): Promise<{ readonly fields: SchemaView['fields']; readonly resolved: Resolved }> {
    const { fields } = await this.#known(tenantId, entityName);
    const resolved = resolve(fields, before, input);
    if (!hasWrongTypes(resolved)) return { fields, resolved };
    const { fields: stored } = await this.deps.schemas.requireLatest(tenantId, entityName);
    return { fields: stored, resolved: resolve(stored, before, input) };
  }
}

/** The facts that the decision of a write uses in addition to the record's state. */
interface KnownToWrite {
  readonly schema: Schema;
  readonly job: JobStart | undefined;
  readonly facts: LinkFacts;
  /** The record's values after the write. */
  readonly resolved: Resolved;
}

const NO_VALUES: LiveRecord['values'] = {};

const written = ({ state, events, position }: Outcome<RecordState, RecordEvent>): WrittenRecord => {
  if (state.status !== 'live') throw notFound();
  return { record: state, changed: events.length > 0, position };
};
