import type { ProjectionProgress } from './projections.ts';

const REPORT_MS = 20;

/**
 * Reports the progress of the projections' thread to the main thread. Reports are batched, because each message costs
 * as much as a read; but a projection that a reader waits for is reported at once.
 */
export class ProgressReports {
  readonly #send: (made: ProjectionProgress[]) => void;
  #latest = new Map<string, ProjectionProgress>();
  readonly #withReader = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (made: ProjectionProgress[]) => void) {
    this.#send = send;
  }

  note(made: ProjectionProgress): void {
    this.#latest.set(`${made.projection}@${made.tag}`, made);
    if (this.#withReader.has(made.projection)) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), REPORT_MS);
  }

  /** Sets whether a reader waits for a projection. */
  setReader(projection: string, isWaiting: boolean): void {
    if (!isWaiting) {
      this.#withReader.delete(projection);
      return;
    }
    this.#withReader.add(projection);
    // The projection may have caught up without a report.
    this.flush();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#latest.size === 0) return;
    const made = [...this.#latest.values()];
    // Replaces the map: a cleared map would keep the memory of its largest size.
    this.#latest = new Map();
    this.#send(made);
  }
}
