import { join } from 'node:path';
import { CHAIN_START, type ChainLink } from '../application/core/events/event-codec.ts';
import { chainHash } from '../application/core/events/hash-chain.ts';
import { streamName } from '../application/core/events/stream-name.ts';
import { openSqliteEventStore } from '../infrastructure/event-store/sqlite/store.ts';
import type { Child } from './http/child.ts';
import { closedLoop } from './http/load.ts';
import { inFolder, makePairs, messageRequests, startPlatformChild } from './http/platform.ts';
import { causeOf, ids, newCodec, TENANT } from './logs.ts';
import { type Line, microseconds, percent, perSecond } from './report.ts';
import { alternate, scaled } from './rounds.ts';

const ROUNDS = 5;
const STREAMS = 64;
const EVENTS = 40_000;
const OF_APPEND = 0.15;
const OF_POST = 0.2;

/** Cost of the hash chain per append of unsealed events, and of keeping and signing heads per `POST` of a message. */
export const chainAndSigning = async (scale: number): Promise<Line[]> => {
  const chain = await inFolder((folder) => chainInAppend(folder, scaled(EVENTS, scale, 640)));
  const signing = await signingInPost(scale);
  return [
    {
      figure: 'append of unsealed events, chained',
      value: perSecond(chain.chained),
      yardstick: { name: 'the same without hashes', value: perSecond(chain.plain) },
      target: { text: `≥ ${1 - OF_APPEND}`, met: chain.chained / chain.plain >= 1 - OF_APPEND },
    },
    {
      figure: 'POST message, heads kept and signed',
      value: microseconds(signing.on),
      yardstick: { name: 'CPU of one without', value: microseconds(signing.off) },
      target: { text: `≤ ${1 + OF_POST}`, met: signing.on / signing.off <= 1 + OF_POST },
    },
    { figure: 'heads and signing in POST message', value: percent(signing.on / signing.off - 1) },
  ];
};

/** Encodes and appends events to 64 streams at a time, with each hash computed once and, for comparison, twice. */
const chainInAppend = async (folder: string, count: number) => {
  const { codec } = newCodec();
  const cause = causeOf('user-0');
  let file = 0;
  const rateOf = async (again: boolean): Promise<number> => {
    const store = openSqliteEventStore({ path: join(folder, `append-${file++}.db`) });
    const streams = Array.from({ length: STREAMS }, (): { name: string; link: ChainLink } => ({
      name: streamName(TENANT, 'user', ids.next()),
      link: CHAIN_START,
    }));
    const began = performance.now();
    await Promise.all(
      streams.map(async (stream) => {
        for (let nth = 0; nth < count / STREAMS; nth += 1) {
          const event = {
            id: ids.next(),
            type: 'UserRoleChanged',
            data: { user_id: stream.name, role: nth % 2 === 0 ? 'admin' : 'operator' },
            at: 1,
          };
          const { stored, recorded } = codec.encode(stream.name, TENANT, stream.link, event, cause);
          // The codec cannot omit the hash; computing it a second time shows its cost.
          if (again) {
            const { hash, revision } = recorded;
            chainHash(hash, stream.name, revision, event.id, event.type, stored.data, stored.metadata);
          }
          const before = stream.link.revision;
          stream.link = recorded;
          await store.append(stream.name, before < 0 ? 'no_stream' : before, [stored]);
        }
      }),
    );
    const rate = count / (performance.now() - began);
    await store.close();
    return rate * 1000;
  };
  const { once, twice } = await alternate(ROUNDS, { once: () => rateOf(false), twice: () => rateOf(true) });
  // The cost of one hash is the difference of the two times.
  return { chained: once, plain: 1 / (2 / once - 1 / twice) };
};

/** CPU microseconds of the whole process per message: `on` with a signing key, `off` without one (no heads). */
const signingInPost = (scale: number): Promise<{ on: number; off: number }> =>
  inFolder(async (folder) => {
    const off = await poster(`${folder}/off`, { NODE_ENV: 'production' }, scale);
    const key = Buffer.alloc(32, 7).toString('base64');
    const on = await poster(`${folder}/on`, { NODE_ENV: 'production', AUDIT_SIGNING_KEY: key }, scale);
    try {
      await alternate(1, { off: off.run, on: on.run });
      return await alternate(ROUNDS, { off: off.run, on: on.run });
    } finally {
      await Promise.all([off.child.stop(), on.child.stop()]);
    }
  });

const poster = async (
  folder: string,
  environment: Record<string, string>,
  scale: number,
): Promise<{ child: Child; run: () => Promise<number> }> => {
  const child = await startPlatformChild(folder, environment);
  const pairs = await makePairs(child.port, STREAMS / 2);
  const requests = messageRequests(pairs);
  const seconds = Math.max(0.5, 3 * scale);
  return {
    child,
    run: async () => {
      const before = child.cpuSeconds();
      const began = performance.now();
      const rate = await closedLoop({ port: child.port, requests, seconds, expectedStatus: 201 });
      const messages = (rate * (performance.now() - began)) / 1000;
      return ((child.cpuSeconds() - before) / messages) * 1e6;
    },
  };
};
