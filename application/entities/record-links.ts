import { DomainError } from '../../domain/core/errors.ts';
import {
  barReference,
  isUsed,
  keysPointingTo,
  registerReference,
  releaseReferences,
} from '../../domain/entities/deletion.ts';
import { type RecordState, type Registration, recordStream } from '../../domain/entities/record.ts';
import type { Link } from '../../domain/entities/record-values.ts';
import { uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { USER_ID } from '../identity/authentication.ts';
import type { Directory } from '../identity/directory.ts';
import type { Ids } from '../ports/clock.ts';

/** What references from record to record are kept with (docs/decisions/0011-references-are-registered-first.md). */

/** So many registrations of a target may be open before whoever comes next clears up. */
const MAX_PENDING = 256;
/** A writer that has not written after this long (ms) is barred. */
const STALE_MS = 60_000;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export interface Writer {
  readonly tenantId: string;
  readonly recordId: string;
  readonly entityName: string;
  readonly cause: Cause;
}

export class RecordLinks {
  readonly #streams: Streams;
  readonly #directory: Directory;
  readonly #ids: Ids;

  constructor(deps: {
    streams: Streams;
    directory: Directory;
    ids: Ids;
  }) {
    this.#streams = deps.streams;
    this.#directory = deps.directory;
    this.#ids = deps.ids;
  }

  /** The record's state as the store has it now. */
  async fresh(tenantId: string, recordId: string): Promise<RecordState> {
    return (await this.#streams.of(recordStream, tenantId, recordId).refresh()).state;
  }

  /** The state in memory, which another process may have left behind. */
  async known(tenantId: string, recordId: string): Promise<RecordState> {
    return (await this.#streams.of(recordStream, tenantId, recordId).load()).state;
  }

  /** Whether the other end is there; nothing is written. */
  async exists(tenantId: string, link: Link): Promise<boolean> {
    if (link.kind === 'user') {
      return USER_ID.test(link.id) && (await this.#directory.user(tenantId, link.id)) !== undefined;
    }
    if (!UUID.test(link.id)) return false;
    const known = await this.known(tenantId, link.id);
    const state = known.status === 'live' ? known : await this.fresh(tenantId, link.id);
    return state.status === 'live' && state.entityName === link.entityName;
  }

  /** @returns the registration's id; undefined when there is nothing to point to */
  async register(writer: Writer, link: Link): Promise<string | undefined> {
    const { tenantId, recordId, entityName, cause } = writer;
    if (!UUID.test(link.id) || link.entityName === undefined) return undefined;
    const target = link.entityName;
    const known = await this.known(tenantId, link.id);
    // That there is none is not said from a state that another node may have left behind.
    const state = known.status === 'none' ? await this.fresh(tenantId, link.id) : known;
    if (state.status === 'none') return undefined;
    if ('pending' in state && state.pending.length >= MAX_PENDING)
      await this.#clearUp(tenantId, link.id, cause);
    const id = this.#ids.next();
    const referrer = { record_id: recordId, entity_name: entityName, field_key: link.fieldKey };
    try {
      await this.#on(tenantId, link.id, cause, (present) =>
        registerReference(present, target, { id, referrer }),
      );
      return id;
    } catch (error) {
      if (error instanceof DomainError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  release(tenantId: string, targetId: string, ids: readonly string[], cause: Cause): Promise<unknown> {
    return this.#on(tenantId, targetId, cause, (state) => releaseReferences(state, ids));
  }

  /**
   * Finds out what became of open registrations of a target: whoever was written is a referrer, whoever was not is
   * barred, so that it never will be.
   * @returns ids of records that point to the target
   */
  async settle(
    tenantId: string,
    targetId: string,
    registrations: readonly Registration[],
    cause: Cause,
  ): Promise<ReadonlySet<string>> {
    const referrers = new Set<string>();
    for (const registration of registrations) {
      const { record_id: id } = registration.referrer;
      // Decided in the referrer's own stream: either the write came first, or it finds itself barred.
      const { state } = await this.#on(tenantId, id, cause, (present) =>
        isUsed(present, registration) ? [] : barReference(present, registration),
      );
      if (keysPointingTo(state, targetId).length > 0) referrers.add(id);
    }
    return referrers;
  }

  /** Lets go of registrations whose referrers are written, and of those of writers that died. */
  async #clearUp(tenantId: string, targetId: string, cause: Cause): Promise<void> {
    const state = await this.known(tenantId, targetId);
    if (!('pending' in state)) return;
    const newest = state.pending.at(-1)?.at ?? 0;
    const done: string[] = [];
    const stale: Registration[] = [];
    for (const registration of state.pending) {
      const referrer = await this.known(tenantId, registration.referrer.record_id);
      if (isUsed(referrer, registration) || referrer.status === 'deleted') done.push(registration.id);
      else if (registration.at < newest - STALE_MS) stale.push(registration);
    }
    await this.settle(tenantId, targetId, stale, cause);
    done.push(...stale.map(({ id }) => id));
    if (done.length > 0) await this.release(tenantId, targetId, done, cause);
  }

  #on(
    tenantId: string,
    id: string,
    cause: Cause,
    decide: (state: RecordState) => ReturnType<typeof releaseReferences>,
  ) {
    return this.#streams.of(recordStream, tenantId, id).execute({ cause: besides(cause) }, decide);
  }
}

/** A keyed request that is tried again looks for its causation: what is done beside its effect must not pass for it. */
const besides = (cause: Cause): Cause => ({
  ...cause,
  causationId: uuidFromName(`links\n${cause.causationId}`),
});
