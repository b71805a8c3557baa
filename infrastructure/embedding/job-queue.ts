import type { Urgency } from '../../application/ports/embedder.ts';

/** Texts to embed for one caller. */
export interface Job {
  readonly texts: readonly string[];
  readonly vectors: Float32Array[];
  readonly resolve: (vectors: readonly Float32Array[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Some texts of a job. */
export interface Part {
  readonly job: Job;
  readonly from: number;
  readonly to: number;
}

/**
 * A group ends when it reaches one of these sizes. A question waits while the thread embeds a group, so the sizes bound
 * the wait.
 */
const GROUP = { texts: 16, characters: 2000 };

/** Limit of waiting questions. With more of them, the last would be answered after its caller has given up. */
export const MAX_QUESTIONS = 256;

/**
 * Texts to embed, in one queue of questions and one of background jobs. The jobs of a queue alternate group by group,
 * so that a large file does not delay a short record.
 */
export class JobQueue {
  readonly #waiting: Record<Urgency, Job[]> = { question: [], background: [] };
  /** Number of the job's texts already handed out. */
  readonly #given = new WeakMap<Job, number>();

  /** Returns false when too many questions are waiting. */
  add(job: Job, urgency: Urgency): boolean {
    const waiting = this.#waiting[urgency];
    if (urgency === 'question' && waiting.length >= MAX_QUESTIONS) return false;
    waiting.push(job);
    return true;
  }

  /** Removes a job that failed, so that its remaining texts are not embedded. */
  drop(job: Job): void {
    for (const waiting of Object.values(this.#waiting)) {
      const at = waiting.indexOf(job);
      if (at >= 0) waiting.splice(at, 1);
    }
  }

  /** Empties the queue and returns its jobs. */
  clear(): readonly Job[] {
    return Object.values(this.#waiting).flatMap((waiting) => waiting.splice(0));
  }

  /** Returns the next texts, from several jobs when they are short; undefined when none of this urgency wait. */
  nextOf(urgency: Urgency): readonly Part[] | undefined {
    const waiting = this.#waiting[urgency];
    const parts: Part[] = [];
    const unfinished: Job[] = [];
    let texts = 0;
    let characters = 0;
    while (texts < GROUP.texts && characters < GROUP.characters) {
      const job = waiting.shift();
      if (job === undefined) break;
      const from = this.#given.get(job) ?? 0;
      let to = from;
      while (to < job.texts.length && texts < GROUP.texts && characters < GROUP.characters) {
        characters += job.texts[to]?.length ?? 0;
        texts += 1;
        to += 1;
      }
      parts.push({ job, from, to });
      this.#given.set(job, to);
      if (to < job.texts.length) unfinished.push(job);
    }
    waiting.push(...unfinished);
    return parts.length === 0 ? undefined : parts;
  }
}
