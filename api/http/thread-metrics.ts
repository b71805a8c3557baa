import type { ThreadFigures } from '../../infrastructure/threads.ts';
import type { Instruments } from '../metrics/instruments.ts';

export type TellThreads = () => Promise<readonly ThreadFigures[]>;

/** Memory and processor time of each thread. @returns a function that updates the gauges for a scrape */
export const threadMetrics = (make: Instruments, tell: TellThreads): (() => Promise<void>) => {
  const heap = make.gauge('thread_heap_bytes', 'Memory of the heap of a thread.', 'sum', 'thread');
  const external = make.gauge(
    'thread_external_bytes',
    'Memory that the heap of a thread keeps outside of it.',
    'sum',
    'thread',
  );
  const cpu = make.gauge(
    'thread_cpu_seconds',
    'Processor time since the start of a thread, which may start again.',
    'sum',
    'thread',
  );
  return async () => {
    const figures = await tell();
    // Removes the values of threads that have ended.
    for (const gauge of [heap, external, cpu]) gauge.reset();
    for (const { name: thread, heapBytes, externalBytes, cpuSeconds } of figures) {
      heap.set({ thread }, heapBytes);
      external.set({ thread }, externalBytes);
      cpu.set({ thread }, cpuSeconds);
    }
  };
};
