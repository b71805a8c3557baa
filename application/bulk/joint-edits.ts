import { type LiveRecord, type RecordState, recordDecider } from '../../domain/entities/record.ts';
import { decideUpdate, type LinkFacts, type SchemaView } from '../../domain/entities/record-decisions.ts';
import { resolve } from '../../domain/entities/record-values.ts';
import type { EventCodec } from '../codec.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import {
  type AppendOutcome,
  appendEach,
  type EventStore,
  MAX_EVENT_BYTES,
  type NewEvent,
  type Position,
  type StreamAppend,
} from '../ports/event-store.ts';
import type { Metrics } from '../ports/metrics.ts';
import { type Schemas, writersOf } from '../schemas.ts';
import type { StreamState, StreamStates } from '../stream-states.ts';
import { streamName } from '../streams.ts';
import type { WriterGate } from '../writer-gate.ts';
import { inputOf } from './judgement.ts';
import type { Pace } from './pace.ts';
import { isRecordId, type RowJob, rowCausation } from './row-job.ts';
import { isSelected } from './selected.ts';

type Head = StreamState<RecordState>;

interface Row {
  readonly id: string;
  readonly head: Head | undefined;
}

const NO_LINKS: LinkFacts = { missing: new Set(), registrations: {} };
/** UTF-16 units become at most three bytes of UTF-8: whatever is bigger is measured by the usual command. */
const SURELY_SMALL = MAX_EVENT_BYTES / 3;

export interface JointEditsDeps {
  readonly states: StreamStates;
  readonly schemas: Schemas;
  readonly gate: WriterGate;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics: Metrics;
}

/**
 * Edits many rows in one go: read, decided and appended together, by the decision of a single edit and each under its
 * own expected revision. It does those rows alone whose edit is plain sailing; of whatever else (nothing to change,
 * refused, drifted, pointing to something, raced, perhaps done before) it keeps off, and the row's own command says
 * what becomes of it. So nothing is decided here that a single edit would not have decided (decision 22).
 */
export class JointEdits {
  readonly #deps: JointEditsDeps;

  constructor(deps: JointEditsDeps) {
    this.#deps = deps;
  }

  static suits({ opParams }: RowJob): boolean {
    return opParams.kind === 'edit';
  }

  /** @returns those that were changed; none where that is not known, which each row's own command finds out */
  async apply(job: RowJob, recordIds: readonly string[], pace: Pace): Promise<ReadonlySet<string>> {
    const { states, gate } = this.#deps;
    const { tenantId, entityName } = job;
    const wellFormed = recordIds.filter(isRecordId);
    const heads = await pace.timed(wellFormed.length, () =>
      states.loadMany(tenantId, recordDecider, wellFormed, { passing: true }),
    );
    // Others have their turn between reading, deciding and writing.
    await new Promise((next) => setImmediate(next));
    return gate.within(writersOf(tenantId, entityName), () => {
      const rows = wellFormed.map((id, nth) => ({ id, head: heads[nth] }));
      return this.#change(job, rows, pace);
    });
  }

  async #change(job: RowJob, rows: readonly Row[], pace: Pace): Promise<ReadonlySet<string>> {
    const { schemas, events, states, metrics } = this.#deps;
    // As for a single edit: read after the states, and nothing but the decision comes before the append.
    const schema = await schemas.fresh(job.tenantId, job.entityName);
    const ids: string[] = [];
    const appends = await pace.timed(rows.length, () => this.#decide(job, schema, rows, ids));
    if (appends.length === 0) return NONE;
    const started = performance.now();
    const outcomes = await appendEach(events, appends);
    const seconds = (performance.now() - started) / 1000;
    const changed = new Set<string>();
    let last: Position | undefined;
    for (const [nth, { stream }] of appends.entries()) {
      const id = ids[nth];
      const outcome: AppendOutcome | undefined = outcomes[nth];
      if (id === undefined || outcome === undefined || outcome instanceof Error) continue;
      // Whoever has the record in memory must not decide on what it was, or show it.
      states.noticed(stream, outcome.revision);
      changed.add(id);
      if (last === undefined || last < outcome.position) last = outcome.position;
    }
    if (changed.size > 0) metrics.eventsAppended(changed.size, seconds);
    if (last !== undefined) pace.wrote(changed.size, last);
    return changed;
  }

  /** @param ids takes the record of each append */
  #decide(job: RowJob, schema: SchemaView, rows: readonly Row[], ids: string[]): StreamAppend[] {
    const { opParams } = job;
    if (opParams.kind !== 'edit') return [];
    const values = inputOf(opParams);
    const appends: StreamAppend[] = [];
    for (const { id, head } of rows) {
      if (head === undefined) continue;
      const { state, position } = head;
      if (state.status !== 'live' || state.entityName !== job.entityName) continue;
      // Somebody has changed the file by hand: nothing is written to the stream of another record.
      if (state.id !== id) continue;
      // Somebody may have done this very row since the commit began.
      if (position === undefined || position > job.since) continue;
      if (!isSelected(job, state)) continue;
      const append = this.#edit(job, schema, head, state, values);
      if (append === undefined) continue;
      appends.push(append);
      ids.push(id);
    }
    return appends;
  }

  #edit(
    job: RowJob,
    schema: SchemaView,
    head: Head,
    state: LiveRecord,
    values: ReturnType<typeof inputOf>,
  ): StreamAppend | undefined {
    const { codec, clock, ids } = this.#deps;
    const { tenantId, cause, sessionId } = job;
    const resolved = resolve(schema.fields, state.values, values);
    if (resolved.links.length > 0 || resolved.misfits.length > 0) return undefined;
    const [event] = decidedOrRefused(state, schema, values, resolved);
    if (event === undefined || codec.keyIds(tenantId, event).length > 0) return undefined;
    const stream = streamName(tenantId, recordDecider.category, state.id);
    const { stored } = codec.encode(
      stream,
      tenantId,
      head,
      { ...event, id: ids.next(), at: Math.max(clock.now(), head.at) },
      { ...cause, causationId: rowCausation(sessionId, state.id) },
      // Mostly nobody reads them here; whoever does, decodes them. To remember each took 1.4 µs of this thread.
      false,
    );
    return isSurelySmall(stored) ? { stream, expected: head.revision, events: [stored] } : undefined;
  }
}

const NONE: ReadonlySet<string> = new Set();

const isSurelySmall = ({ data, metadata }: NewEvent): boolean =>
  data.length + metadata.length <= SURELY_SMALL;

/** Nothing for what is refused: the row's own command is refused as well, and knows what to make of it. */
const decidedOrRefused = (
  state: LiveRecord,
  schema: SchemaView,
  values: ReturnType<typeof inputOf>,
  resolved: ReturnType<typeof resolve>,
): ReturnType<typeof decideUpdate> => {
  try {
    return decideUpdate(state, schema, { values }, NO_LINKS, resolved);
  } catch {
    return [];
  }
};
