import type { FromProcess } from './messages.ts';

/** How long (ms) processes may take to report their metrics; a blocked one is left out. */
const COLLECT_MS = 1000;

type Snapshot = Extract<FromProcess, { kind: 'snapshot' }>['metrics'];

/** Collects the metrics of several processes. */
export class Collector<P> {
  readonly #waiting = new Map<number, (from: P, metrics: Snapshot) => void>();
  #last = 0;

  /** @param ask asks a process for its metrics, which come by {@link report} */
  collect(processes: readonly P[], ask: (process: P, id: number) => void): Promise<readonly Snapshot[]> {
    this.#last += 1;
    const id = this.#last;
    const found = new Map<P, Snapshot>();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve([...found.values()]);
      };
      const timer = setTimeout(done, COLLECT_MS);
      this.#waiting.set(id, (from, metrics) => {
        found.set(from, metrics);
        if (found.size === processes.length) done();
      });
      for (const each of processes) ask(each, id);
    });
  }

  report(from: P, id: number, metrics: Snapshot): void {
    this.#waiting.get(id)?.(from, metrics);
  }
}
