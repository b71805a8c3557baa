import { getHeapStatistics, type HeapInfo } from 'node:v8';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Figures of one thread of this process. */
export interface ThreadFigures {
  readonly name: string;
  /** Bytes of the thread's heap, and of its memory outside the heap. */
  readonly heapBytes: number;
  readonly externalBytes: number;
  /** Processor time since the thread's start. */
  readonly cpuSeconds: number;
}

/** Threads started by {@link startThread}, by name. */
const threads = new Map<string, Worker>();
/** Timeout (ms) for the figures of a busy thread. */
const FIGURES_MS = 250;

/** Starts a thread; its figures are reported under its name. */
export const startThread = (name: string, file: URL, options: WorkerOptions = {}): Worker => {
  const worker = new Worker(file, { ...options, name });
  threads.set(name, worker);
  worker.once('exit', () => {
    if (threads.get(name) === worker) threads.delete(name);
  });
  return worker;
};

const figuresOf = (name: string, heap: HeapInfo, cpu: NodeJS.CpuUsage): ThreadFigures => ({
  name,
  heapBytes: heap.total_heap_size,
  externalBytes: heap.external_memory,
  cpuSeconds: (cpu.user + cpu.system) / 1e6,
});

/** Figures of the main thread and of the started threads; a thread that does not answer soon is left out. */
export const threadFigures = async (): Promise<readonly ThreadFigures[]> => {
  const figures = [...threads].map(async ([name, worker]): Promise<readonly ThreadFigures[]> => {
    const late = Promise.withResolvers<undefined>();
    using _timer = setTimeout(late.resolve, FIGURES_MS, undefined);
    try {
      const answer = await Promise.race([
        Promise.all([worker.getHeapStatistics(), worker.cpuUsage()]),
        late.promise,
      ]);
      return answer === undefined ? [] : [figuresOf(name, ...answer)];
    } catch {
      return []; // The thread has ended.
    }
  });
  return [
    figuresOf('main', getHeapStatistics(), process.threadCpuUsage()),
    ...(await Promise.all(figures)).flat(),
  ];
};
