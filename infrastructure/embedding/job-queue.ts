import type { Urgency } from '../../application/ports/embedder.ts';

/** Texts that somebody wants the vectors of. */
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

/** A group is what the thread is busy with for about as long as a question may have to wait. */
const GROUP = { texts: 16, characters: 2000 };

/** What comes after these is refused: it would be answered after who asked has given up. */
export const MAX_QUESTIONS = 256;

/**
 * Who is next to be embedded. Questions overtake everything in the background; there, jobs take turns, a group each, so
 * that somebody's enormous file does not hold up another's short record.
 */
export class JobQueue {
  readonly #waiting: Record<Urgency, Job[]> = { question: [], background: [] };
  /** How many of a job's texts were handed out. */
  readonly #given = new WeakMap<Job, number>();

  /** False when so many questions wait already that this one is not taken. */
  add(job: Job, urgency: Urgency): boolean {
    const waiting = this.#waiting[urgency];
    if (urgency === 'question' && waiting.length >= MAX_QUESTIONS) return false;
    waiting.push(job);
    return true;
  }

  /** The next texts, of several jobs where they are short; undefined when nobody waits. */
  next(): readonly Part[] | undefined {
    return this.nextOf('question') ?? this.nextOf('background');
  }

  nextOf(urgency: Urgency): readonly Part[] | undefined {
    return this.#group(this.#waiting[urgency]);
  }

  /** What has failed or ended is not computed any more. */
  drop(job: Job): void {
    for (const waiting of Object.values(this.#waiting)) {
      const at = waiting.indexOf(job);
      if (at >= 0) waiting.splice(at, 1);
    }
  }

  /** All jobs that wait, and wait no longer. */
  clear(): readonly Job[] {
    return Object.values(this.#waiting).flatMap((waiting) => waiting.splice(0));
  }

  #group(waiting: Job[]): readonly Part[] | undefined {
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
