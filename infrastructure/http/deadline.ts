import { TransientSet } from '../../application/ports/transient.ts';
import { failed as failure } from './failures.ts';

/** One deadline over everything that an exchange does. */

/** What an exchange ends with, and the reason of its signal, when it has taken too long. */
export const TIMED_OUT = failure('timeout', 'There was no answer in time.');

/**
 * Says when an exchange has to end: its time is up, or its caller has given it up. As a signal it costs a tenth of one, and
 * is one for those who need one.
 */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  readonly #followers: TransientSet<Deadline> | undefined;
  readonly #listeners: ((reason: unknown) => void)[] = [];
  #reason: { readonly value: unknown } | undefined;
  #controller: AbortController | undefined;

  /** @param given not aborted */
  constructor(timeoutMs: number, given: AbortSignal | undefined) {
    this.#timer = setTimeout(() => this.stop(TIMED_OUT), timeoutMs);
    this.#followers = given === undefined ? undefined : followersOf(given).add(this);
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  get reason(): unknown {
    return this.#reason?.value;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.value);
    }
    return this.#controller.signal;
  }

  /** Told when it is over, not if it is already. @returns to be called when there is nothing to tell any more */
  whenOver(told: (reason: unknown) => void): () => void {
    this.#listeners.push(told);
    return () => {
      const at = this.#listeners.indexOf(told);
      if (at >= 0) this.#listeners.splice(at, 1);
    };
  }

  stop(reason: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = { value: reason };
    this.end();
    for (const told of this.#listeners.splice(0)) told(reason);
    this.#controller?.abort(reason);
  }

  /** What it was for has ended. */
  end(): void {
    clearTimeout(this.#timer);
    this.#followers?.delete(this);
  }
}

/**
 * Hundreds of exchanges at once have the signal of who may give them all up. It has one listener for all of them: a signal
 * goes through all that it has whenever one comes or goes.
 */
const followers = new WeakMap<AbortSignal, TransientSet<Deadline>>();

const followersOf = (given: AbortSignal): TransientSet<Deadline> => {
  const known = followers.get(given);
  if (known !== undefined) return known;
  const all = new TransientSet<Deadline>();
  followers.set(given, all);
  const giveUp = (): void => {
    for (const each of [...all]) each.stop(given.reason);
  };
  given.addEventListener('abort', giveUp, { once: true });
  return all;
};

/**
 * Runs under one deadline for everything. What does not look at it is not waited for.
 * @throws {@link TIMED_OUT}, the reason of `given`, or what `run` throws
 */
export const withDeadline = <T>(
  timeoutMs: number,
  given: AbortSignal | undefined,
  run: (deadline: Deadline) => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    if (given?.aborted) return reject(given.reason);
    const deadline = new Deadline(timeoutMs, given);
    deadline.whenOver(reject);
    const failed = (error: unknown): void => {
      deadline.end();
      // Whatever broke because of it, the deadline is why.
      reject(deadline.isOver ? deadline.reason : error);
    };
    try {
      run(deadline).then((done) => {
        deadline.end();
        resolve(done);
      }, failed);
    } catch (error) {
      failed(error);
    }
  });
