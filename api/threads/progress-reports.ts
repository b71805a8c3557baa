import type { ProjectionProgress } from './protocol.ts';

const REPORT_MS = 20;

/**
 * What the projections' thread tells the main one of its progress: together, some fifty times a second, because taking a
 * message costs the main thread as much as a read; at once for a projection that somebody waits for.
 */
export class ProgressReports {
  readonly #send: (made: ProjectionProgress[]) => void;
  #latest = new Map<string, ProjectionProgress>();
  readonly #hurried = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (made: ProjectionProgress[]) => void) {
    this.#send = send;
  }

  note(made: ProjectionProgress): void {
    this.#latest.set(`${made.projection}@${made.tag}`, made);
    if (this.#hurried.has(made.projection)) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), REPORT_MS);
  }

  /** Somebody waits for a projection, or waits no more. */
  hurry(projection: string, waiting: boolean): void {
    if (!waiting) {
      this.#hurried.delete(projection);
      return;
    }
    this.#hurried.add(projection);
    // It may have got there already and not said so.
    this.flush();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#latest.size === 0) return;
    const made = [...this.#latest.values()];
    // Anew: the table of one that is cleared points to the next one (application/ports/transient.ts).
    this.#latest = new Map();
    this.#send(made);
  }
}
