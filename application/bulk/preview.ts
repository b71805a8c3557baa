import { type RowRefusal, restricted } from '../../domain/bulk/outcomes.ts';
import { type BulkState, bulkStream, CHUNK, type NewSession } from '../../domain/bulk/session.ts';
import {
  finishPreview,
  freezeRows,
  recordPreviewErrors,
  startPreview,
} from '../../domain/bulk/session-decisions.ts';
import type { BulkEvent, Cascade, RowError, Sample } from '../../domain/bulk/session-events.ts';
import { isUuid } from '../../domain/core/text.ts';
import { type RecordState, recordStream } from '../../domain/entities/record.ts';
import type { Written } from '../core/commands/command.ts';
import type { Streams } from '../core/commands/streams.ts';
import { type Slice, timeSlices } from '../core/concurrency/time-slices.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Records } from '../entities/records.ts';
import type { Schemas } from '../entities/schemas.ts';
import type { Ids } from '../ports/clock.ts';
import type { Jobs } from '../workflow/jobs.ts';
import { NO_CASCADE, type Referrers } from './cascades.ts';
import { bytesOf, chunked } from './chunking.ts';
import { DeletionPlan } from './deletion-plan.ts';
import { type DryRun, type DryRunRequest, dryRun, sampleOf } from './dry-run.ts';
import { stateOf } from './row.ts';

/** Number of rows whose states are read from the store together. */
const READ_TOGETHER = 64;
const SAMPLES = 20;
/** Maximum bytes of all samples as JSON; further samples are left out. */
const SAMPLE_BYTES = 128 * 1024;

const SUCCEEDS = 0;
const SKIPS = 1;
const REFUSED = 2;

/** The parts of a preview's answer in addition to the counts. */
export interface Shown {
  readonly ids: readonly string[];
  readonly errors: readonly RowError[];
  readonly sample_affected: readonly Sample[];
}

interface DryRuns {
  /** Version of each row's record; 0 if no such record exists. */
  readonly versions: Uint32Array;
  /** Outcome of each row. */
  readonly kinds: Uint8Array;
  readonly errors: RowError[];
  readonly cascade: Cascade | undefined;
}

/** Makes previews: the outcome of each row, and the frozen rows (decisions, section 5). */
export class BulkPreviews extends WithDeps<{
  readonly streams: Streams;
  readonly schemas: Schemas;
  readonly records: Records;
  readonly jobs: Jobs;
  readonly referrers: Referrers;
  readonly ids: Ids;
}> {
  /**
   * @param rows distinct record ids
   * @throws `conflict` during a change of the entity's schema, or when another try of the request has taken over
   */
  async make(
    tenantId: string,
    begun: Omit<NewSession, 'attempt'>,
    rows: readonly string[],
    cause: Cause,
  ): Promise<Written<{ readonly state: BulkState; readonly shown: Shown }>> {
    const request = { ...begun, tenantId };
    const dryRuns = await this.#dryRunAll(request, rows);
    const sample = await this.#sample(request, rows, dryRuns);
    const session = { ...begun, attempt: this.deps.ids.next() };
    const stored = await this.#store(tenantId, session, rows, dryRuns, sample, cause);
    const shown = {
      ids: rows.slice(0, CHUNK),
      errors: dryRuns.errors.slice(0, CHUNK),
      sample_affected: sample,
    };
    return { ...stored, shown };
  }

  async #dryRunAll(request: DryRunRequest, rows: readonly string[]): Promise<DryRuns> {
    const versions = new Uint32Array(rows.length);
    const kinds = new Uint8Array(rows.length);
    const errors: RowError[] = [];
    const refuse = (row: number, refusal: RowRefusal, current_state: string): void => {
      kinds[row] = REFUSED;
      errors.push({ row, record_id: rows[row] ?? '', current_state, ...refusal });
    };
    const note = (row: number, state: RecordState, result: DryRun): void => {
      if (state.status === 'live' && state.entityName === request.entityName) versions[row] = state.version;
      if (result.kind === 'refused') {
        const isThere = result.refusal.code !== 'record_not_found';
        refuse(row, result.refusal, isThere ? stateOf(state) : '');
      } else kinds[row] = result.kind === 'skips' ? SKIPS : SUCCEEDS;
    };
    const slice = timeSlices.of(request.tenantId, 'previewRows');
    for (let first = 0; first < rows.length; first += READ_TOGETHER) {
      if (slice.isOver) await slice.next();
      const states = await this.#statesOf(request.tenantId, rows.slice(first, first + READ_TOGETHER));
      await Promise.all(
        states.map(async (state, nth) => note(first + nth, state, await dryRun(this.deps, request, state))),
      );
    }
    const cascade =
      request.opParams.kind === 'delete' ? await this.#plan(request, rows, kinds, refuse, slice) : undefined;
    return { versions, kinds, errors: errors.toSorted((a, b) => a.row - b.row), cascade };
  }

  /** An id that is no UUID has no stream, and gets the initial state. */
  async #statesOf(tenantId: string, ids: readonly string[]): Promise<readonly RecordState[]> {
    const known = ids.filter(isUuid);
    const found = await this.deps.streams.loadAll(recordStream, tenantId, known, { uncached: true });
    let next = 0;
    return ids.map((id) => (isUuid(id) ? found[next++]?.state : undefined) ?? recordStream.initial);
  }

  async #plan(
    { tenantId, entityName }: DryRunRequest,
    rows: readonly string[],
    kinds: Uint8Array,
    refuse: (row: number, refusal: RowRefusal, currentState: string) => void,
    slice: Slice,
  ): Promise<Cascade> {
    if (!(await this.deps.referrers.canPointTo(tenantId, entityName))) return NO_CASCADE;
    const plan = new DeletionPlan({
      state: (id) => this.#state(tenantId, id),
      referrers: (id) => this.deps.referrers.of(tenantId, id),
      onDelete: async (name, fieldKey) => {
        const schema = await this.deps.schemas.cached(tenantId, name);
        return schema?.fields.find(({ key }) => key === fieldKey)?.reference?.on_delete;
      },
      pause: () => slice.pause(),
    });
    const selected = new Set<string>();
    for (const [row, id] of rows.entries()) {
      if (kinds[row] !== SUCCEEDS) continue;
      selected.add(id);
      await plan.add(id, entityName);
    }
    for (const [row, id] of rows.entries()) {
      if (slice.isOver) await slice.next();
      const blocker = kinds[row] === SUCCEEDS ? plan.blockerOf(id) : undefined;
      if (blocker === undefined) continue;
      refuse(row, restricted(blocker), stateOf(await this.#state(tenantId, id)));
    }
    return plan.summary(selected);
  }

  async #sample(
    request: DryRunRequest,
    rows: readonly string[],
    { kinds }: DryRuns,
  ): Promise<readonly Sample[]> {
    const samples: Sample[] = [];
    let bytes = 0;
    for (const [row, id] of rows.entries()) {
      if (samples.length >= SAMPLES) break;
      if (kinds[row] !== SUCCEEDS) continue;
      const state = await this.#state(request.tenantId, id);
      const result = await dryRun(this.deps, request, state);
      if (result.kind !== 'succeeds') continue;
      const sample = sampleOf(id, state, result);
      bytes += Buffer.byteLength(JSON.stringify(sample));
      if (bytes > SAMPLE_BYTES) break;
      samples.push(sample);
    }
    return samples;
  }

  async #store(
    tenantId: string,
    session: NewSession,
    rows: readonly string[],
    { versions, kinds, errors, cascade }: DryRuns,
    sample: readonly Sample[],
    cause: Cause,
  ): Promise<Written<{ state: BulkState }>> {
    const { id, attempt } = session;
    const append = (decide: (state: BulkState) => readonly BulkEvent[]) =>
      this.deps.streams.of(bulkStream, tenantId, id).execute({ cause }, decide);
    await append((state) => startPreview(state, session));
    let first = 0;
    const frozen = rowsOf(rows, versions);
    for (const part of chunked(frozen, CHUNK, sizeOfRow)) {
      const at = first;
      await append((state) => freezeRows(state, attempt, at, part));
      first += part.length;
    }
    for (const part of chunked(errors, CHUNK))
      await append((state) => recordPreviewErrors(state, attempt, part));
    const count = (kind: number): number => kinds.reduce((sum, each) => sum + (each === kind ? 1 : 0), 0);
    const counts = {
      total_resolved: rows.length,
      would_succeed: count(SUCCEEDS),
      would_skip: count(SKIPS),
      would_error: count(REFUSED),
    };
    return append((state) => finishPreview(state, attempt, { counts, cascadeSummary: cascade, sample }));
  }

  async #state(tenantId: string, id: string): Promise<RecordState> {
    return (await this.deps.streams.of(recordStream, tenantId, id).load()).state;
  }
}

/** A generator, since there may be many rows. */
const rowsOf = function* (ids: readonly string[], versions: Uint32Array) {
  for (const [row, record_id] of ids.entries()) yield { record_id, version: versions[row] ?? 0 };
};

/** Upper bound of the bytes of `{"record_id":"…","version":…},` with a UUID. */
const FROZEN_BYTES = 96;

const sizeOfRow = (row: { readonly record_id: string; readonly version: number }): number =>
  isUuid(row.record_id) ? FROZEN_BYTES : bytesOf(row);
