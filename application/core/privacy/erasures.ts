import { z } from 'zod';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { UserForgotten } from '../../../domain/identity/user.ts';
import { MessageDeleted } from '../../../domain/messaging/conversation.ts';
import { TenantCreated, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { WebhookDeleted } from '../../../domain/webhooks/subscription.ts';
import type { EventStore, StoredEvent } from '../../ports/event-store.ts';
import type { KeyStore } from '../../ports/key-store.ts';
import type { Logger } from '../../ports/logger.ts';
import { dataOf, type EventCodec, type LoggedEvent } from '../events/event-codec.ts';
import { logPages } from '../events/log-pages.ts';
import { streamName } from '../events/stream-name.ts';
import { WithDeps } from '../with-deps.ts';
import { firstAdminKeyId, personKeyId, textKeyOf, webhookKeyId } from './key-ids.ts';
import type { KeyRing } from './key-ring.ts';

/** Event types that erase texts of messages or people, or secrets of webhooks. */
export const ERASING: readonly string[] = [MessageDeleted.type, UserForgotten.type, WebhookDeleted.type];

const PAGE = 500;
const AT_ONCE = 32;
/** Id of the key store's row with the position up to which erasures are applied. The row is plain text, not a key. */
export const MARK = 'platform/erasures-applied';
/** All versions of the row have the same length, as `KeyStore.replace` requires. */
const MARK_BYTES = 256;
const markSchema = z.object({
  /** All erasures up to this position are applied; empty for the start of the log. */
  after: z.string(),
  /** Id of the first event after that position; a different id there means that the log is another one. */
  next: z.string(),
  /** Event types that were applied; without one of {@link ERASING}, all erasures are applied again. */
  types: z.array(z.string()).default([]),
});

/**
 * Applies the erasures of the log to the key store (decisions, section 11): in the request that erases, in the eraser
 * after a crash, and at each start, since the key store may be a restored backup
 * (docs/decisions/0018-erasures-are-applied-at-the-start.md).
 */
export class Erasures extends WithDeps<{
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly keys: KeyRing;
  readonly store: KeyStore;
  readonly logger: Logger;
}> {
  /** Destroys the keys that an event erases; ignores other events. Safe to repeat. */
  async apply(event: LoggedEvent): Promise<void> {
    for (const id of await this.#keysOf(event)) await this.deps.keys.destroy(id);
  }

  /** Destroys all data keys of a person. */
  async erasePerson(tenantId: string, userId: string): Promise<void> {
    for (const id of await this.#keysOfPerson(tenantId, userId)) await this.deps.keys.destroy(id);
  }

  /**
   * Applies erasures of the log that were not applied to this key store; called before the process serves requests.
   * @returns how many keys were destroyed
   */
  async reapply(): Promise<number> {
    const last = await this.deps.events.readAll({ direction: 'backward', limit: 2 });
    const [newest, before] = last;
    if (newest === undefined) return 0;
    const from = await this.#applied();
    let destroyed = 0;
    for await (const page of logPages(this.deps.events, { from, filter: { types: ERASING }, limit: PAGE })) {
      destroyed += await this.#applyAll(page);
    }
    await this.#mark({ after: before?.position ?? '', next: newest.id, types: [...ERASING] });
    return destroyed;
  }

  /** Ids of the keys that the event should have destroyed and that still exist in the store. */
  async notApplied(stored: StoredEvent): Promise<string[]> {
    const ids = await this.#keysOf(this.deps.codec.decode(stored));
    for (const id of ids) this.deps.keys.forget(id);
    await this.deps.keys.load(ids);
    return ids.filter((id) => this.deps.keys.has(id) && !this.deps.keys.isDestroyed(id));
  }

  /** Ids of the keys that an event erases, destroyed or not. */
  async erasedBy(stored: StoredEvent): Promise<readonly string[]> {
    return this.#keysOf(this.deps.codec.decode(stored));
  }

  async #applyAll(page: readonly StoredEvent[]): Promise<number> {
    const ids: string[] = [];
    for (const stored of page) {
      try {
        ids.push(...(await this.#keysOf(this.deps.codec.decode(stored))));
      } catch (error) {
        this.deps.logger.error({ err: error, event_id: stored.id }, 'an erasure could not be read');
      }
    }
    await this.deps.keys.load(ids);
    const left = ids.filter((id) => !this.deps.keys.isDestroyed(id));
    for (let at = 0; at < left.length; at += AT_ONCE) {
      await Promise.all(left.slice(at, at + AT_ONCE).map((id) => this.deps.keys.destroy(id)));
    }
    return left.length;
  }

  async #keysOf(event: LoggedEvent): Promise<readonly string[]> {
    const forgotten = dataOf(UserForgotten, event);
    if (forgotten !== undefined) return this.#keysOfPerson(event.tenantId, forgotten.user_id);
    const key = erasedKeyId(event);
    return key === undefined ? [] : [key];
  }

  /** The tenant's first event holds a copy of its first admin's data, under a separate key. */
  async #keysOfPerson(tenantId: string, userId: string): Promise<readonly string[]> {
    const own = personKeyId(tenantId, userId);
    const stream = streamName(PLATFORM, tenantStream.category, tenantId);
    const [first] = await this.deps.events.readStream(stream, { limit: 1 });
    const created = first === undefined ? undefined : dataOf(TenantCreated, this.deps.codec.decode(first));
    return created?.admin_id === userId ? [own, firstAdminKeyId(tenantId)] : [own];
  }

  /** The position up to which erasures are applied; undefined for a new key store or another log. */
  async #applied() {
    const [row] = await this.deps.store.getMany([MARK]);
    const mark = row instanceof Uint8Array ? markIn(row) : undefined;
    if (mark === undefined || ERASING.some((type) => !mark.types.includes(type))) return undefined;
    const after = mark.after === '' ? undefined : this.deps.events.parsePosition(mark.after);
    if (mark.after !== '' && after === undefined) return undefined;
    const [next] = await this.deps.events.readAll({ from: after, limit: 1 });
    return next?.id === mark.next ? after : undefined;
  }

  /** Another process that starts at the same time may store an earlier position, which is also correct. */
  async #mark(mark: z.output<typeof markSchema>): Promise<void> {
    const wrapped = Buffer.from(JSON.stringify(mark).padEnd(MARK_BYTES));
    const [present] = await this.deps.store.getMany([MARK]);
    if (present instanceof Uint8Array) {
      if (Buffer.compare(present, wrapped) !== 0) await this.deps.store.replace(MARK, present, wrapped);
    } else await this.deps.store.put([{ id: MARK, wrapped }]);
  }
}

/** Id of the key of the text, person or secret that an event erases; undefined for other events. */
export const erasedKeyId = (event: LoggedEvent): string | undefined => {
  const deleted = dataOf(MessageDeleted, event);
  if (deleted !== undefined) return `${event.tenantId}/${textKeyOf(deleted)}`;
  const forgotten = dataOf(UserForgotten, event);
  if (forgotten !== undefined) return personKeyId(event.tenantId, forgotten.user_id);
  const webhook = dataOf(WebhookDeleted, event);
  return webhook === undefined ? undefined : webhookKeyId(event.tenantId, webhook.subscription_id);
};

const markIn = (row: Uint8Array): z.output<typeof markSchema> | undefined => {
  try {
    return markSchema.safeParse(JSON.parse(Buffer.from(row).toString('utf8'))).data;
  } catch {
    return undefined;
  }
};
