import { type EventStore, StoreUnavailable } from '../../../application/ports/event-store.ts';

/** Repeatable random numbers from a seed, 0 ≤ x < 1. */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

const ticks = async (count: number): Promise<void> => {
  for (let tick = 0; tick < count; tick += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Waits a random number of ticks before and after each operation. */
export const withRandomYields =
  (random: () => number) =>
  (events: EventStore): EventStore => ({
    ...events,
    append: async (...args) => {
      await ticks(random() * 4);
      const result = await events.append(...args);
      await ticks(random() * 2);
      return result;
    },
    readStream: async (...args) => {
      await ticks(random() * 2);
      const page = await events.readStream(...args);
      await ticks(random() * 2);
      return page;
    },
  });

/** A process that crashes at append number `after` (from 1); the append is stored if `isDone`, later calls fail. */
export const crashingAt = (after: number, isDone: boolean) => {
  let appends = 0;
  const life = { isDead: () => appends >= after };
  const alive = (): void => {
    if (life.isDead()) throw new StoreUnavailable('this process is dead');
  };
  const wrap = (events: EventStore): EventStore => ({
    ...events,
    append: async (...args) => {
      alive();
      appends += 1;
      if (!life.isDead()) return events.append(...args);
      if (isDone) await events.append(...args);
      throw new StoreUnavailable('died');
    },
    readStream: async (...args) => {
      alive();
      return events.readStream(...args);
    },
  });
  return { ...life, wrap };
};
