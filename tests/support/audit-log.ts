import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventExport } from '../../application/audit/event-export.ts';
import { HeadKeeper } from '../../application/audit/head-keeper.ts';
import { HeadSigner } from '../../application/audit/head-signer.ts';
import {
  type Cause,
  CHAIN_START,
  type ChainLink,
  EventCodec,
} from '../../application/core/events/event-codec.ts';
import { KeyRing } from '../../application/core/privacy/key-ring.ts';
import { LogFollower } from '../../application/core/subscriptions/log-follower.ts';
import type { HeadSigningKey, SignedHead } from '../../application/ports/audit-heads.ts';
import type { EventStore, NewEvent } from '../../application/ports/event-store.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { openSqliteHeadStore } from '../../infrastructure/audit/sqlite-heads.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { systemClock, uuidV7Ids } from '../../infrastructure/identity/ids.ts';
import { type TestKeyStore, testLogger } from './fakes.ts';
import { MASTER_KEY } from './node.ts';

/** Large logs of mixed streams, written by the product's codec, with their exports and proofs. */

const ids = uuidV7Ids(systemClock);

export const newSigner = (): HeadSigningKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString('base64'),
  };
};

export const newFolder = async (): Promise<string> => mkdtemp(join(tmpdir(), 'audit-'));

const cause = (): Cause => {
  const id = ids.next();
  return { actor: { kind: 'user', id: 'ann' }, correlationId: id, causationId: id };
};

/** Makes the nth event of a stream of one kind. */
type Kind = (tenantId: string, id: string, nth: number, textKey: string) => { type: string; data: unknown };

const KINDS: Readonly<Record<string, Kind>> = {
  conversation: (_tenant, id, nth, textKey) =>
    nth === 0
      ? {
          type: 'ConversationStarted',
          data: { conversation_id: id, dm_key: id, participant_user_ids: ['ann', 'ben'] },
        }
      : {
          type: 'MessageSent',
          data: {
            conversation_id: id,
            message_id: ids.next(),
            sender_user_id: 'ann',
            body: `Message ${nth} “größer” 😀, about as long as people write them.`,
            text_key: textKey,
            mentioned_user_ids: [],
          },
        },
  user: (_tenant, id, nth) =>
    nth === 0
      ? {
          type: 'UserRegistered',
          data: {
            user_id: id,
            email: `${id}@people.example`,
            display_name: 'Ann "the first"',
            role: 'operator',
            origin: 'admin',
          },
        }
      : nth === 1
        ? { type: 'UserPasswordSet', data: { user_id: id, password_hash: '$argon2id$not-a-real-hash' } }
        : { type: 'UserRoleChanged', data: { user_id: id, role: nth % 2 === 0 ? 'admin' : 'operator' } },
  email: (_tenant, id, nth) => ({
    type: nth % 2 === 0 ? 'EmailReserved' : 'EmailClaimed',
    data: { email_hash: id, user_id: 'ann' },
  }),
  record: (_tenant, id, nth) => ({
    type: 'RecordUpdated',
    data: {
      record_id: id,
      entity_name: 'offer',
      values: {
        title: 'line\nfeed, \u2028 and "quotes" <&>',
        sizes: 2.5,
        big: 1e21,
        small: 1e-7,
        on: nth % 2 === 0,
      },
      types: {},
      changed: ['title'],
      version: nth + 1,
    },
  }),
};

const codecOf = (keyStore: TestKeyStore) => {
  const keys = new KeyRing(keyStore, MASTER_KEY);
  return { keys, codec: new EventCodec(catalogue, keys) };
};

/** Concurrent streams, and events per append. */
const WIDTH = 64;
const AT_ONCE = 20;

/** Appends `count` events of the tenant to concurrent streams of all kinds, at most `length` to each stream. */
export const fillAuditLog = async (
  events: EventStore,
  keyStore: TestKeyStore,
  tenantId: string,
  count: number,
  length = 200,
): Promise<void> => {
  const { codec, keys } = codecOf(keyStore);
  const kinds = Object.entries(KINDS);
  const streams = Math.ceil(count / length);
  let begun = 0;
  let left = count;
  const oneAfterTheOther = async (): Promise<void> => {
    while (begun < streams && left > 0) {
      const [category, kind] = kinds[begun++ % kinds.length] ?? [];
      if (category === undefined || kind === undefined) throw new Error('no kinds');
      const id = ids.next();
      const stream = `${tenantId}.${category}-${id}`;
      let last: ChainLink = CHAIN_START;
      for (let made = 0; made < length && left > 0; made += AT_ONCE) {
        const batch: NewEvent[] = [];
        const before = last.revision;
        for (let nth = made; nth < Math.min(made + AT_ONCE, length) && left > 0; nth += 1) {
          left -= 1;
          const textKey = category === 'conversation' ? await keys.newTextKey(tenantId) : '';
          const event = {
            id: ids.next(),
            at: Date.UTC(2026, 0, 1) + nth,
            ...kind(tenantId, id, nth, textKey),
          };
          if (category === 'user' && nth === 0) await keys.persist([keys.create(`${tenantId}/person-${id}`)]);
          const { stored, recorded } = codec.encode(stream, tenantId, last, event, cause());
          last = recorded;
          batch.push(stored);
        }
        await events.append(stream, before < 0 ? 'no_stream' : before, batch);
      }
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, oneAfterTheOther));
};

export interface AuditLog {
  readonly folder: string;
  readonly keyStore: TestKeyStore;
}

/** An export of the data in `folder`. */
export const exportOf = async ({ folder, keyStore }: AuditLog, tenantId: string): Promise<Buffer[]> => {
  const events = openSqliteEventStore({ path: join(folder, 'events.db') });
  const { keys } = codecOf(keyStore);
  const pieces: Buffer[] = [];
  try {
    for await (const piece of new EventExport({ events, catalogue, keys }).export(tenantId, {})) {
      pieces.push(Buffer.from(piece));
    }
  } finally {
    await events.close();
  }
  return pieces;
};

export interface Proof {
  readonly head: SignedHead;
  /** In the form of `GET /audit/proof` with the list of heads. */
  readonly withHeads: string;
}

/** A proof of the data in `folder`, from the log alone. */
export const proofOf = async (
  { folder }: Pick<AuditLog, 'folder'>,
  tenantId: string,
  signer: HeadSigningKey,
): Promise<Proof> => {
  const events = openSqliteEventStore({ path: join(folder, 'events.db') });
  const cache = await newFolder();
  const heads = await openSqliteHeadStore({ path: join(cache, 'heads.db') });
  const logger = testLogger();
  const keeper = new HeadKeeper({ events, follower: new LogFollower({ events, logger }), heads, logger });
  const stopping = new AbortController();
  const running = keeper.run(stopping.signal);
  try {
    const headSigner = new HeadSigner({
      keeper: { reachEnd: () => reachEnd(keeper) },
      heads,
      signer,
      sink: undefined,
      clock: systemClock,
      logger,
      isTenant: () => true,
    });
    const list: string[] = [];
    const head = await headSigner.proof(tenantId, (page) => {
      for (const one of page) list.push(JSON.stringify(one));
    });
    return { head, withHeads: `${[JSON.stringify(head), ...list].join('\n')}\n` };
  } finally {
    stopping.abort();
    await running;
    await heads.close();
    await events.close();
    await rm(cache, { recursive: true });
  }
};

/** The first fold of a large log may take longer than a request waits. */
const reachEnd = async (keeper: HeadKeeper): Promise<void> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await keeper.reachEnd();
    } catch (error) {
      if (tries >= 12) throw error;
    }
  }
};
