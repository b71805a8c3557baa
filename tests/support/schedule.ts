import { BackgroundScheduler } from '../../application/core/concurrency/background-scheduler.ts';
import { queueRoom } from '../../application/core/subscriptions/tenant-queues.ts';
import type { Position } from '../../application/ports/event-store.ts';
import type { ReadStore } from '../../application/ports/read-store.ts';

/** Quanta and queue room that the subscribers of one process share. */
export const newSchedule = () => ({ scheduler: new BackgroundScheduler(), room: queueRoom() });

/** The position up to which a subscriber has handled the events of all tenants; undefined while a tenant is behind. */
export const handledUpTo = async (
  store: Pick<ReadStore, 'subscriberProgress'>,
  name: string,
): Promise<Position | undefined> => {
  const progress = await store.subscriberProgress(name);
  return progress?.behind.size === 0 ? progress.position : undefined;
};
