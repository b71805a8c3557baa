import { z } from 'zod';
import type { SharedTakes } from '../http/rate-limits.ts';
import { type FromProcess, type Takes, toProcess } from './messages.ts';
import { PendingReplies } from './pending-replies.ts';

/** Environment variable in which the supervisor passes a process its {@link ProcessIdentity}, as JSON. */
export const MEMBER = 'CLUSTER_MEMBER';

const identity = z.object({
  /** 0 for the process with the configured role, which may include background work; the others have the role `api`. */
  index: z.int(),
  processes: z.int(),
  /** Owner of the leases. A process that replaces a crashed process gets the same owner, so no lease has to expire. */
  owner: z.string(),
});
export type ProcessIdentity = z.output<typeof identity>;

/** Timeout (ms) of a scrape of all processes' metrics. */
const SCRAPE_MS = 2000;
/** Maximum time (ms) until taken rate-limit tokens are sent to the other processes. */
const REPORT_MS = 50;
/** Maximum of pairs of bucket and caller in a batch; a full batch is sent at once. */
const MOST_TAKES = 5000;

/** A process of a group; exchanges metrics and rate-limit counts with the others through the supervisor. */
export class Member implements SharedTakes {
  readonly identity: ProcessIdentity;
  readonly #send: (message: FromProcess) => void;
  readonly #scrapes = new PendingReplies<string>();
  #taken = new Map<string, [bucket: string, caller: string, tokens: number]>();
  #reporting: NodeJS.Timeout | undefined;
  #onTaken: (bucket: string, caller: string, tokens: number) => void = () => undefined;
  #snapshot: () => Promise<readonly object[]> = () => Promise.resolve([]);

  constructor(at: ProcessIdentity, send: (message: FromProcess) => void) {
    this.identity = at;
    this.#send = send;
  }

  /** Tells the supervisor that this process accepts connections. */
  listening(): void {
    this.#send({ kind: 'listening' });
  }

  receive(received: unknown): void {
    const message = toProcess.parse(received);
    switch (message.kind) {
      case 'collect':
        void this.#snapshot().then((metrics) =>
          this.#send({ kind: 'snapshot', id: message.id, metrics: [...metrics] }),
        );
        return;
      case 'metrics':
        this.#scrapes.reply(message.id, message.text);
        return;
      case 'taken':
        for (const [bucket, caller, tokens] of message.takes) this.#onTaken(bucket, caller, tokens);
        return;
      default:
        message satisfies never;
    }
  }

  /** @param snapshot the metrics of this process */
  collectFrom(snapshot: () => Promise<readonly object[]>): void {
    this.#snapshot = snapshot;
  }

  /** The metrics of all processes; undefined when the supervisor does not answer in time. */
  scrape(): Promise<string | undefined> {
    return this.#scrapes.ask(SCRAPE_MS, (id) => this.#send({ kind: 'scrape', id }));
  }

  took(bucket: string, caller: string, tokens: number): void {
    const key = `${bucket}\n${caller}`;
    const known = this.#taken.get(key);
    if (known === undefined) this.#taken.set(key, [bucket, caller, tokens]);
    else known[2] += tokens;
    if (this.#taken.size >= MOST_TAKES) this.#report();
    else this.#reporting ??= setTimeout(() => this.#report(), REPORT_MS).unref();
  }

  onTaken(listener: (bucket: string, caller: string, tokens: number) => void): void {
    this.#onTaken = listener;
  }

  #report(): void {
    clearTimeout(this.#reporting);
    this.#reporting = undefined;
    const takes: Takes = [...this.#taken.values()];
    this.#taken = new Map();
    this.#send({ kind: 'taken', takes });
  }
}

/** This process as a member of its group; undefined without a supervisor. */
export const memberOf = (variables: Readonly<Record<string, string | undefined>>): Member | undefined => {
  const given = variables[MEMBER];
  if (given === undefined || process.send === undefined) return undefined;
  // Ignores a failed send: the supervisor has ended, and the event `disconnect` stops this process.
  const member = new Member(identity.parse(JSON.parse(given)), (message) =>
    process.send?.(message, undefined, undefined, () => undefined),
  );
  process.on('message', (message) => member.receive(message));
  return member;
};
