import { z } from 'zod';
import { canonicalJson } from '../../../domain/core/canonical-json.ts';
import type { EventDefinition } from '../../../domain/core/event.ts';
import type { NewEvent, Position, StoredEvent } from '../../ports/event-store.ts';
import { RecentValues } from '../memory/recent-values.ts';
import { ownerKeyId } from '../privacy/key-ids.ts';
import type { KeyRing } from '../privacy/key-ring.ts';
import { canonicalFields, type KnownType, knownTypes } from './event-registry.ts';
import { chainHash, metadataTexts } from './hash-chain.ts';
import { parseStreamName } from './stream-name.ts';
import { UndecodableEvent, upcasted } from './upcasting.ts';

/** The person or system that caused an event, as stored in its metadata. */
export type Actor = z.output<typeof actorSchema>;

/** Records whether a request under impersonation has appended an event. */
export interface ImpersonationLog {
  appended: boolean;
}

/** The actor and the causation and correlation ids that an event is appended with. */
export interface Cause {
  readonly actor: Actor;
  readonly impersonatedBy?: string | undefined;
  /** The id of the request (or background work) that started a chain of events; all events of the chain have it. */
  readonly correlationId: string;
  /** The id of the direct cause, such as an event, a request, or the use of an idempotency key. */
  readonly causationId: string;
  /** The span that leads to the event, as a W3C Trace Context header; undefined without tracing (decision 60). */
  readonly traceparent?: string | undefined;
  /** Not stored. `appended` is set to true when an event with this cause was appended. */
  readonly impersonationLog?: ImpersonationLog | undefined;
}

interface Recorded {
  readonly id: string;
  readonly stream: string;
  readonly tenantId: string;
  readonly revision: number;
  /** `occurred_at` in ms. */
  readonly at: number;
  readonly actor: Actor;
  readonly impersonatedBy: string | undefined;
  readonly correlationId: string;
  readonly causationId: string;
  readonly traceparent?: string | undefined;
  readonly hash: string;
}

/** An event of any type. */
export interface AnyEvent {
  readonly type: string;
  readonly data: unknown;
}

/** A stored event, decoded; a union of event types stays a union. Personal fields of `data` are sealed. */
export type RecordedEvent<E extends AnyEvent = AnyEvent> = E extends AnyEvent ? E & Recorded : never;

/** A recorded event with its position in the log. */
export type LoggedEvent = RecordedEvent & { readonly position: Position };

/** Revision and hash of a stream's last event, to which the next event is chained. */
export interface ChainLink {
  readonly revision: number;
  readonly hash: string;
}

export const CHAIN_START: ChainLink = { revision: -1, hash: '0'.repeat(64) };

/** The data of an event of the given type, else undefined. The codec has checked the data against the type's schema. */
export const dataOf = <D extends EventDefinition>(
  definition: D,
  event: AnyEvent,
): z.output<D['schema']> | undefined =>
  event.type === definition.type ? (event.data as z.output<D['schema']>) : undefined;

const actorSchema = z.object({
  kind: z.enum(['user', 'platform_admin', 'api_token', 'extension', 'partner', 'public', 'system']),
  id: z.string(),
  /** For an extension: the person who loaded it. */
  user_id: z.string().optional(),
});

/** Event metadata as stored; `prev_hash` and `hash` chain the stream. */
export const metadataSchema = z.object({
  $causationId: z.string(),
  $correlationId: z.string(),
  actor: actorSchema,
  hash: z.string(),
  impersonated_by: z.string().optional(),
  occurred_at: z.string(),
  prev_hash: z.string(),
  schema_version: z.number().int(),
  tenant_id: z.string(),
  /** W3C Trace Context; absent when the writer did not trace. */
  traceparent: z.string().optional(),
});
type Metadata = z.output<typeof metadataSchema>;

/** Size of {@link RecentValues} for this process's recent appends. */
const RECENT = 512;
const RECENT_CHARACTERS = 16 * 1024;

export class EventCodec {
  readonly #definitions: ReadonlyMap<string, KnownType>;
  readonly #keys: KeyRing | undefined;
  /** Events that this process appended, by id, so that it does not parse them again. */
  readonly #recent = new RecentValues<RecordedEvent>(RECENT);
  /** Each stored event is parsed once for all followers. */
  readonly #decoded = new WeakMap<StoredEvent, LoggedEvent>();

  /** @param keys needed only to encode */
  constructor(catalogue: readonly EventDefinition[], keys?: KeyRing) {
    this.#definitions = knownTypes(catalogue);
    this.#keys = keys;
  }

  /** Ids of the data keys for the event's personal fields. */
  keyIds(tenantId: string, event: { type: string; data: unknown }): string[] {
    const { definition } = this.#known(event.type);
    // Event schemas are object schemas.
    const values = event.data as Readonly<Record<string, unknown>>;
    const ids: string[] = [];
    for (const [field, owner] of Object.entries(definition.personal)) {
      if (values[field] !== undefined) ids.push(ownerKeyId(tenantId, owner, values));
    }
    return ids;
  }

  /**
   * Seals, serialises and chains an event, whose keys must be loaded.
   * @param isAwaited whether this process will decode the event soon
   */
  encode(
    stream: string,
    tenantId: string,
    previous: ChainLink,
    event: { readonly id: string; readonly type: string; readonly data: unknown; readonly at: number },
    cause: Cause,
    isAwaited = true,
  ): { stored: NewEvent; recorded: RecordedEvent } {
    const { definition, fields } = this.#known(event.type);
    const values: Record<string, unknown> = { ...(event.data as object) };
    for (const [field, owner] of Object.entries(definition.personal)) {
      if (values[field] === undefined) continue;
      values[field] = this.#ring.seal(ownerKeyId(tenantId, owner, values), String(values[field]));
    }
    const revision = previous.revision + 1;
    const data = fields === undefined ? canonicalJson(values) : canonicalFields(values, fields);
    const [before, after] = metadataTexts(cause, event.at, previous.hash, definition.version, tenantId);
    const digest = chainHash(previous.hash, stream, revision, event.id, event.type, data, before + after);
    const metadata = `${before}"hash":"${digest}",${after}`;
    const recorded: RecordedEvent = {
      type: event.type,
      data: values,
      id: event.id,
      stream,
      tenantId,
      revision,
      at: event.at,
      actor: cause.actor,
      impersonatedBy: cause.impersonatedBy,
      correlationId: cause.correlationId,
      causationId: cause.causationId,
      traceparent: cause.traceparent,
      hash: digest,
    };
    // Large events are not cached: the cache holds at most `2 * RECENT` events of `RECENT_CHARACTERS`.
    if (isAwaited && data.length <= RECENT_CHARACTERS) this.#recent.set(event.id, recorded);
    return { stored: { id: event.id, type: event.type, data, metadata }, recorded };
  }

  /** @throws {UndecodableEvent} */
  decode(stored: StoredEvent): LoggedEvent {
    const known = this.#decoded.get(stored);
    if (known !== undefined) return known;
    const logged = this.#read(stored);
    this.#decoded.set(stored, logged);
    return logged;
  }

  /** Like {@link decode}, without caching, for an event that no other code reads soon. @throws {UndecodableEvent} */
  decodeOnce(stored: StoredEvent): LoggedEvent {
    return this.#decoded.get(stored) ?? this.#read(stored);
  }

  #read(stored: StoredEvent): LoggedEvent {
    const recent = this.#recent.get(stored.id);
    return recent !== undefined && recent.stream === stored.stream && recent.revision === stored.revision
      ? { ...recent, position: stored.position }
      : this.#parse(stored);
  }

  #parse(stored: StoredEvent): LoggedEvent {
    const { definition } = this.#known(stored.type);
    let metadata: Metadata;
    let data: unknown;
    try {
      metadata = metadataSchema.parse(JSON.parse(stored.metadata));
      data = JSON.parse(stored.data);
    } catch (cause) {
      throw unreadable(stored, cause);
    }
    const at = Date.parse(metadata.occurred_at);
    if (Number.isNaN(at)) throw new UndecodableEvent(`${stored.stream}@${stored.revision} has no time`);
    data = upcasted(definition, metadata.schema_version, data);
    data = checkedData(definition, stored, data);
    return {
      type: stored.type,
      data,
      id: stored.id,
      stream: stored.stream,
      tenantId: parseStreamName(stored.stream).tenantId,
      revision: stored.revision,
      position: stored.position,
      at,
      actor: metadata.actor,
      impersonatedBy: metadata.impersonated_by,
      correlationId: metadata.$correlationId,
      causationId: metadata.$causationId,
      traceparent: metadata.traceparent,
      hash: metadata.hash,
    };
  }

  get #ring(): KeyRing {
    if (this.#keys === undefined) throw new Error('a codec without keys cannot encode');
    return this.#keys;
  }

  #known(type: string): KnownType {
    const known = this.#definitions.get(type);
    if (known === undefined) throw new UndecodableEvent(`unknown event type ${type}`);
    return known;
  }
}

/** @throws {UndecodableEvent} */
const checkedData = ({ schema }: EventDefinition, { type, id }: StoredEvent, data: unknown): unknown => {
  const checked = schema.safeParse(data);
  if (checked.success) return checked.data;
  throw new UndecodableEvent(`${type} ${id}: ${checked.error.issues[0]?.message ?? 'invalid'}`);
};

const unreadable = ({ stream, revision }: StoredEvent, cause: unknown): UndecodableEvent =>
  new UndecodableEvent(`${stream}@${revision} cannot be read`, { cause });
