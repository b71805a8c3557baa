import type { Position } from '../ports/event-store.ts';

/** Small steps that a deletion is made of. */

/** So many streams are written side by side. */
const WIDTH = 16;

export const latest = (a: Position | undefined, b: Position | undefined): Position | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;

/** Some at a time. The first failure ends it, once those under way have ended. */
export const each = async <T>(items: AsyncIterable<T>, run: (item: T) => Promise<void>): Promise<void> => {
  let batch: T[] = [];
  const flush = async (): Promise<void> => {
    const running = batch.map(run);
    batch = [];
    const failed = (await Promise.allSettled(running)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  };
  for await (const item of items) {
    batch.push(item);
    if (batch.length >= WIDTH) await flush();
  }
  await flush();
};
