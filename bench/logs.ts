import {
  type Cause,
  CHAIN_START,
  type ChainLink,
  EventCodec,
} from '../application/core/events/event-codec.ts';
import { streamName } from '../application/core/events/stream-name.ts';
import { KeyRing } from '../application/core/privacy/key-ring.ts';
import type { EventStore, NewEvent } from '../application/ports/event-store.ts';
import type { KeyStore } from '../application/ports/key-store.ts';
import { catalogue } from '../domain/catalogue.ts';
import { systemClock, uuidV7Ids } from '../infrastructure/identity/ids.ts';
import { SECRETS } from './http/tokens.ts';

/** Event logs that the product's codec writes without a server. */

export const TENANT = 'bench';
export const ids = uuidV7Ids(systemClock);

/** A key store that drops every key, for logs whose texts are never opened. */
export const noKeyStore: KeyStore = {
  put: async () => undefined,
  getMany: async (keyIds) => keyIds.map(() => undefined),
  destroy: async () => undefined,
  replace: async () => false,
  list: async function* () {},
  ping: async () => undefined,
  close: async () => undefined,
};

export const newCodec = (store: KeyStore = noKeyStore): { codec: EventCodec; keys: KeyRing } => {
  const keys = new KeyRing(store, SECRETS.MASTER_KEY);
  return { codec: new EventCodec(catalogue, keys), keys };
};

export const causeOf = (userId: string): Cause => {
  const id = ids.next();
  return { actor: { kind: 'user', id: userId }, correlationId: id, causationId: id };
};

export const messageData = (conversationId: string, nth: number, textKey: string) => ({
  conversation_id: conversationId,
  message_id: ids.next(),
  sender_user_id: `user-${nth % 2}`,
  body: `Message ${nth}, about as long as people write them when they are not in a hurry.`,
  text_key: textKey,
  mentioned_user_ids: [],
});

const AT_ONCE = 10;

/** Appends `messages` sealed and chained messages to each of `conversations` streams, ten per append. */
export const fillLog = async (
  store: EventStore,
  conversations: number,
  messages: number,
): Promise<number> => {
  const { codec, keys } = newCodec();
  const streams = Array.from({ length: conversations }, () => {
    const id = ids.next();
    const link: ChainLink = CHAIN_START;
    return { id, name: streamName(TENANT, 'conversation', id), link };
  });
  type Stream = (typeof streams)[number];
  const encode = (stream: Stream, type: string, data: unknown): NewEvent => {
    const event = { id: ids.next(), type, data, at: Date.now() };
    const { stored, recorded } = codec.encode(stream.name, TENANT, stream.link, event, causeOf('user-0'));
    stream.link = recorded;
    return stored;
  };
  const append = async (stream: Stream, events: NewEvent[], before: number): Promise<void> => {
    await store.append(stream.name, before < 0 ? 'no_stream' : before, events);
  };
  await Promise.all(
    streams.map((stream) => {
      const data = {
        conversation_id: stream.id,
        dm_key: stream.id,
        participant_user_ids: ['user-0', 'user-1'],
      };
      return append(stream, [encode(stream, 'ConversationStarted', data)], -1);
    }),
  );
  for (let sent = 0; sent < messages; sent += AT_ONCE) {
    await Promise.all(
      streams.map(async (stream) => {
        const before = stream.link.revision;
        const events: NewEvent[] = [];
        for (let nth = sent; nth < Math.min(sent + AT_ONCE, messages); nth += 1) {
          const textKey = await keys.newTextKey(TENANT);
          events.push(encode(stream, 'MessageSent', messageData(stream.id, nth, textKey)));
          keys.forget(`${TENANT}/${textKey}`);
        }
        return append(stream, events, before);
      }),
    );
  }
  return conversations * (messages + 1);
};
