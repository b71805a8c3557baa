import { join } from 'node:path';
import { CHAIN_START, chainHash } from '../application/core/events/event-codec.ts';
import { streamName } from '../application/core/events/stream-name.ts';
import { openSqliteKeyStore } from '../infrastructure/key-store/sqlite.ts';
import { closedLoop, requestBytes } from './http/load.ts';
import { inFolder, makePairs, messagesPath, startPlatformChild } from './http/platform.ts';
import { causeOf, ids, messageData, newCodec, TENANT } from './logs.ts';
import { BODY } from './post-message.ts';
import { type Line, microseconds } from './report.ts';
import { alternate, scaled } from './rounds.ts';

const GROUP = 32;
const ROUNDS = 5;

/** What the hash chain and the sealing cost: informs, has no target. */
export const benchProtection = async (scale: number): Promise<Line[]> => {
  const count = scaled(16_000, scale, 320);
  const { hash, encode, seal, sealAndTake } = await inFolder((folder) =>
    alone(join(folder, 'keys.db'), count),
  );
  const post = 1e6 / (await postRate(scale));
  const all = { name: 'POST message, all of it', value: microseconds(post) };
  return [
    {
      figure: 'chain hash, an event',
      value: microseconds(hash),
      yardstick: { name: 'sealing and encoding it without', value: microseconds(encode - hash) },
    },
    {
      figure: 'take a key and seal, a message',
      value: microseconds(sealAndTake),
      yardstick: { name: 'with one key for all', value: microseconds(seal) },
    },
    { figure: 'chain hash in POST message', value: microseconds(hash), yardstick: all },
    { figure: 'sealing and keys in POST message', value: microseconds(sealAndTake), yardstick: all },
  ];
};

/** Microseconds of each piece by itself; pages of keys are made and stored on the way. */
const alone = async (path: string, count: number) => {
  const store = await openSqliteKeyStore({ path });
  const { codec, keys } = newCodec(store);
  const id = ids.next();
  const stream = streamName(TENANT, 'conversation', id);
  const cause = causeOf('user-0');
  const each = async (work: (eventId: string) => void | Promise<void>) => {
    const names = Array.from({ length: count }, () => ids.next());
    const began = performance.now();
    for (const name of names) {
      const waiting = work(name);
      if (waiting !== undefined) await waiting;
    }
    return ((performance.now() - began) / count) * 1000;
  };
  // One message under a key made beforehand, so that sealing counts in both and the hash in one.
  const textKey = await keys.newTextKey(TENANT);
  const shared = messageData(id, 1, textKey);
  const sealWith = (name: string): void => {
    keys.seal(`${TENANT}/${name}`, shared.body);
  };
  const encodeOne = (eventId: string) =>
    codec.encode(
      stream,
      TENANT,
      CHAIN_START,
      { id: eventId, type: 'MessageSent', data: shared, at: 1 },
      cause,
    );
  const { stored } = encodeOne(ids.next());
  const found = await alternate(ROUNDS, {
    hash: () =>
      each((eventId) => {
        chainHash(CHAIN_START.hash, stream, 1, eventId, stored.type, stored.data, stored.metadata);
      }),
    encode: async () => {
      await keys.load([`${TENANT}/${textKey}`]);
      return each((eventId) => {
        encodeOne(eventId);
      });
    },
    seal: async () => {
      // The round before has taken so many keys that this one is not in memory any more.
      await keys.load([`${TENANT}/${textKey}`]);
      return each(() => sealWith(textKey));
    },
    sealAndTake: () =>
      each((): void | Promise<void> => {
        const taken = keys.newTextKey(TENANT);
        if (taken instanceof Promise) return taken.then(sealWith);
        sealWith(taken);
        return undefined;
      }),
  });
  await store.close();
  return found;
};

/** Messages a second over HTTP, as in the figure `post` without its yardsticks. */
export const postRate = (scale: number): Promise<number> =>
  inFolder(async (folder) => {
    const platform = await startPlatformChild(folder);
    try {
      const pairs = await makePairs(platform.port, GROUP);
      const requests = pairs.flatMap(({ id, tokens }) =>
        tokens.map((token) => [requestBytes('POST', messagesPath(id), { token, body: BODY })]),
      );
      const run = (seconds: number) =>
        closedLoop({
          port: platform.port,
          requests,
          seconds: Math.max(0.3, seconds * scale),
          expectedStatus: 201,
        });
      await run(3);
      return await run(3);
    } finally {
      await platform.stop();
    }
  });
