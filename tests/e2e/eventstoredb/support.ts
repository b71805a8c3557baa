import { setTimeout } from 'node:timers/promises';
import type { Counts } from '../../support/eventstoredb/counts.ts';
import type { TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { liveMessage } from '../../support/shapes.ts';
import { BASE, type Member } from '../../support/world.ts';

/** Load on a server over the test server of EventStoreDB, and what that server counted meanwhile. */

export interface Posted {
  readonly id: string;
  readonly body: string;
}

interface Load {
  readonly writers: number;
  readonly each: number;
  /** Between two messages of one writer; default 0. */
  readonly pauseMs?: number;
}

/** Posts `each` messages by every writer, one after the other; `writers` at the same time. */
export const postAll = async (
  sender: Member,
  conversations: readonly string[],
  { writers, each, pauseMs = 0 }: Load,
): Promise<Posted[]> => {
  const posted: Posted[] = [];
  const write = async (writer: number): Promise<void> => {
    for (let nth = 0; nth < each; nth += 1) {
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

/** What the test server counted while `work` was done; the peak is since it was started. */
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
