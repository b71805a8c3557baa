/** Streams written at the same time. */
const WIDTH = 16;

/** Runs over items, some at a time. Fails with the first error, after the running ones have ended. */
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
