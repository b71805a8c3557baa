import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { keyed } from '../../support/client.ts';
import type { Counts } from '../../support/eventstoredb/counts.ts';
import type { TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { eventually } from '../../support/server.ts';
import { liveMessage } from '../../support/shapes.ts';
import { type Listening, listen, type MessageEnvelope } from '../../support/socket.ts';
import { BASE, type Member, type World } from '../../support/world.ts';

/** Puts load on a server of the product, and reads what the test server of EventStoreDB has counted meanwhile. */

export interface Posted {
  readonly id: string;
  readonly body: string;
}

interface Load {
  readonly writers: number;
  readonly each: number;
  /** Pause between two messages of one writer; default 0. */
  readonly pauseMs?: number;
  /** Ends the load before all messages are posted. */
  readonly isOver?: () => boolean;
}

/** Posts `each` messages per writer, one after the other; the `writers` work at the same time. */
export const postAll = async (
  sender: Member,
  conversations: readonly string[],
  { writers, each, pauseMs = 0, isOver = () => false }: Load,
): Promise<Posted[]> => {
  const posted: Posted[] = [];
  const write = async (writer: number): Promise<void> => {
    for (let nth = 0; nth < each && !isOver(); nth += 1) {
      const conversation = conversations[writer % conversations.length];
      const body = `${writer}/${nth}`;
      const answer = await sender.api.post(`${BASE}/${conversation}/messages`, { body });
      posted.push({ id: answer.as(liveMessage, 201).id, body });
      if (pauseMs > 0) await setTimeout(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return posted;
};

/** Counts of the test server during `work`; `peakAppends` is counted since the server's start. */
export const countedDuring = async (store: TestEventStoreDb, work: () => Promise<void>): Promise<Counts> => {
  const before = await store.counts();
  await work();
  const after = await store.counts();
  return {
    ...after,
    batchStreams: after.batchStreams - before.batchStreams,
    appends: after.appends - before.appends,
    appended: after.appended - before.appended,
    groups: after.groups - before.groups,
    twins: after.twins - before.twins,
    readOfAll: after.readOfAll - before.readOfAll,
    readOfStreams: after.readOfStreams - before.readOfStreams,
    subscribed: after.subscribed - before.subscribed,
    reads: after.reads - before.reads,
    subscriptions: after.subscriptions - before.subscriptions,
    drops: after.drops - before.drops,
  };
};

/** The close code that asks a client to reconnect from its last position. */
export const RESUME = 1012;

/** Connects a client that reconnects from its last position after each close, and keeps its messages in order. */
export const follow = async (world: World, who: Member) => {
  const frames: MessageEnvelope[] = [];
  const codes: number[] = [];
  let last: Listening = await listen(world.server, who.token);
  let end = false;
  const position = (): string => last.seen.at(-1)?.position ?? last.readyAt;
  const running = (async () => {
    for (;;) {
      const { code } = await last.closed;
      frames.push(...last.seen.filter((one) => one.kind === 'message'));
      if (end) return;
      codes.push(code);
      const after = position();
      last = await eventually(
        'the way back',
        () => listen(world.server, who.token, { after }).catch(() => undefined),
        20_000,
      );
    }
  })();
  const all = (): readonly MessageEnvelope[] => [
    ...frames,
    ...(last.raw.readyState === last.raw.OPEN ? last.seen.filter((one) => one.kind === 'message') : []),
  ];
  return {
    codes,
    all,
    finish: async () => {
      end = true;
      last.close();
      await running;
      return frames;
    },
  };
};

/** Posts until `stopped` is true; repeats each message under one key until acknowledged. @returns the messages' ids */
export const post = async (
  who: Member,
  room: string,
  name: string,
  stopped: () => boolean,
  ids: string[] = [],
): Promise<string[]> => {
  for (let nth = 0; !stopped(); nth += 1) {
    const send = () =>
      who.api.post(`${BASE}/${room}/messages`, { body: `${name}/${nth}` }, keyed(`${name}-${nth}`));
    let answer = await send();
    while (answer.status !== 201) {
      expect(answer.status, answer.text).to.be.oneOf([503, 409]);
      await setTimeout(200);
      answer = await send();
    }
    ids.push(answer.as(liveMessage, 201).id);
  }
  return ids;
};
