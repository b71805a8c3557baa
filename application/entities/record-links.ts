import { DomainError } from '../../domain/core/errors.ts';
import { isUuid } from '../../domain/core/text.ts';
import {
  barReference,
  isUsed,
  keysPointingTo,
  registerReference,
  releaseReferences,
} from '../../domain/entities/deletion.ts';
import {
  type RecordEvent,
  type RecordState,
  type Registration,
  recordStream,
} from '../../domain/entities/record.ts';
import type { Link, LinkFacts } from '../../domain/entities/record-values.ts';
import { uuidFromName } from '../core/commands/request-context.ts';
import type { StreamState } from '../core/commands/stream-states.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import { USER_ID } from '../identity/authentication-claims.ts';
import type { Directory } from '../identity/directory.ts';
import type { Ids } from '../ports/clock.ts';

/** Number of open registrations of a target at which the next writer cleans up. */
const MAX_PENDING = 256;
/** Age (ms), relative to the target's newest registration, above which a cleanup bars an unused registration. */
const STALE_MS = 60_000;

interface Writer {
  readonly tenantId: string;
  readonly recordId: string;
  readonly entityName: string;
  readonly cause: Cause;
}

/** References of records: their targets, and the registrations in the streams of the targets (decision 11). */
export class RecordLinks extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly ids: Ids;
}> {
  /** The record's state as stored now, with the position of its last event. */
  read(tenantId: string, recordId: string): Promise<StreamState<RecordState>> {
    return this.deps.streams.of(recordStream, tenantId, recordId).refresh();
  }

  /** The record's state as stored now. */
  async fresh(tenantId: string, recordId: string): Promise<RecordState> {
    return (await this.read(tenantId, recordId)).state;
  }

  /** The cached state, which may be behind another process. */
  async known(tenantId: string, recordId: string): Promise<RecordState> {
    return (await this.deps.streams.of(recordStream, tenantId, recordId).load()).state;
  }

  /** Whether the target exists; writes nothing. */
  async exists(tenantId: string, link: Link): Promise<boolean> {
    if (link.kind === 'user') {
      const { directory } = this.deps;
      if (!USER_ID.test(link.id)) return false;
      if ((await directory.user(tenantId, link.id)) !== undefined) return true;
      // Another node may have just registered the user.
      return (await directory.freshUser(tenantId, link.id)) !== undefined;
    }
    if (!isUuid(link.id)) return false;
    const stream = this.deps.streams.of(recordStream, tenantId, link.id);
    const state = await stream.loadWhere(({ status }) => status === 'live');
    return state.status === 'live' && state.entityName === link.entityName;
  }

  /** @returns the registration's id; undefined when the target does not exist */
  async register(writer: Writer, link: Link): Promise<string | undefined> {
    const { tenantId, recordId, entityName, cause } = writer;
    if (!isUuid(link.id) || link.entityName === undefined) return undefined;
    const target = link.entityName;
    const stream = this.deps.streams.of(recordStream, tenantId, link.id);
    const state = await stream.loadWhere(({ status }) => status !== 'none');
    if (state.status === 'none') return undefined;
    if ('pending' in state && state.pending.length >= MAX_PENDING)
      await this.#clearUp(tenantId, link.id, cause);
    const id = this.deps.ids.next();
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
   * Resolves open registrations of a target: a writer that has written is a referrer; every other writer is barred from
   * writing.
   * @returns ids of records that refer to the target
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
      // Decides in the referrer's stream, so that a writer has either written before or cannot write any more.
      const { state } = await this.#on(tenantId, id, cause, (present) =>
        isUsed(present, registration) ? [] : barReference(present, registration),
      );
      if (keysPointingTo(state, targetId).length > 0) referrers.add(id);
    }
    return referrers;
  }

  /** Releases registrations of finished writes, and stale registrations after their writers are barred. */
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

  /** Uses a derived causation id, so that a retry of the request does not return these events as its result. */
  #on(tenantId: string, id: string, cause: Cause, decide: (state: RecordState) => readonly RecordEvent[]) {
    const causationId = uuidFromName(`links\n${cause.causationId}`);
    return this.on(tenantId, id, { ...cause, causationId }, decide);
  }

  on(tenantId: string, id: string, cause: Cause, decide: (state: RecordState) => readonly RecordEvent[]) {
    return this.deps.streams.of(recordStream, tenantId, id).execute({ cause }, decide);
  }
}

/** Thrown for references that were not looked up or whose registration is barred; the caller looks them up again. */
export class LinksChanged extends Error {
  override readonly name = 'LinksChanged';
}

/** Looks up and registers the references of one write. */
export class LinkSession extends WithDeps<{ readonly links: RecordLinks; readonly writer: Writer }> {
  /** The registration, and whether the target exists, by field and target id. */
  readonly #found = new Map<
    string,
    { readonly registration: string | undefined; readonly exists: boolean }
  >();

  /** Registers references to records; for users, only checks that they exist. */
  async register(links: readonly Link[]): Promise<void> {
    for (const link of links) this.#found.set(keyOf(link), await this.#resolve(link));
  }

  /** @throws {LinksChanged} */
  facts(state: RecordState, links: readonly Link[]): LinkFacts {
    const barred = state.status === 'deleted' ? [] : state.barred;
    const missing = new Set<string>();
    const registrations: Record<string, string> = {};
    for (const link of links) {
      const found = this.#found.get(keyOf(link));
      if (found === undefined) throw new LinksChanged();
      if (found.registration !== undefined && barred.includes(found.registration)) throw new LinksChanged();
      if (!found.exists) missing.add(link.fieldKey);
      if (found.registration !== undefined) registrations[link.fieldKey] = found.registration;
    }
    return { missing, registrations };
  }

  /** Releases registrations of a refused write. If this fails, the deletion of their target resolves them. */
  async release(): Promise<void> {
    const { tenantId, cause } = this.deps.writer;
    for (const [key, { registration }] of this.#found) {
      const [, targetId = ''] = key.split('\n');
      if (registration !== undefined) {
        await this.deps.links.release(tenantId, targetId, [registration], cause).catch(() => undefined);
      }
    }
  }

  async #resolve(link: Link): Promise<{ registration: string | undefined; exists: boolean }> {
    const { tenantId, recordId, entityName } = this.deps.writer;
    if (link.kind === 'user')
      return { registration: undefined, exists: await this.deps.links.exists(tenantId, link) };
    // The record refers to itself, so no registration is needed.
    if (link.id === recordId) return { registration: undefined, exists: link.entityName === entityName };
    const registration = await this.deps.links.register(this.deps.writer, link);
    return { registration, exists: registration !== undefined };
  }
}

const keyOf = ({ fieldKey, id }: Link): string => `${fieldKey}\n${id}`;
