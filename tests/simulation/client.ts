import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Dice } from './dice.ts';
import { Broken, type Call, type Reply } from './network.ts';
import type { SimulatedNode } from './node.ts';
import type { World } from './world.ts';

/** A write request as its client sees it. */
export interface Request {
  /** Also the correlation id of its events. */
  readonly id: string;
  readonly what: string;
  /** The person, where one is known. */
  readonly by: string | undefined;
  /** Type of the one event that proves its effect; undefined when a success may append nothing. */
  readonly event: string | undefined;
  /** `acknowledged` by a 2xx, `refused` by a 4xx, `unknown` when no certain answer arrived. */
  outcome: 'acknowledged' | 'refused' | 'unknown';
  /** Sent again without a key: the effect may happen twice. */
  isRepeated: boolean;
  reply: Reply | undefined;
}

export interface Person {
  readonly tenantId: string;
  readonly id: string;
  readonly email: string;
  readonly role: 'admin' | 'operator';
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export const signed = (claims: object, key: string): string => {
  const content = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`;
};

/** Headers of a read that must include a write. */
const after = (written: Reply | undefined): Readonly<Record<string, string>> => {
  const position = written?.headers['x-event-position'];
  return position === undefined ? {} : { 'x-min-position': position };
};

const refusal = z.looseObject({ error: z.string() });
const isUnexpected = ({ status, body }: Reply): boolean =>
  status === 409 && refusal.parse(body).error === 'assistant_upstream_unexpected';

/** Whether a client tries again after an answer with this status. */
const isPassing = (status: number): boolean => status === 429 || status >= 500;
const TRIES = 40;
/** A read is tried until the longest outage is over. */
const READ_TRIES = 2_000;

/** Calls nodes that the dice pick, with one credential, and records each write with its answer. */
export class Client {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #token: string | undefined;
  readonly #requests: Request[];
  readonly #by: string | undefined;
  /** Nodes that serve requests: all but those with the role `worker`. */
  readonly #nodes: () => readonly SimulatedNode[];

  constructor(world: World, dice: Dice, token: string | undefined, requests: Request[], by?: string) {
    this.#world = world;
    this.#dice = dice;
    this.#token = token;
    this.#requests = requests;
    this.#by = by;
    this.#nodes = () => world.nodes.filter(({ role }) => role !== 'worker');
  }

  /** Reads, and tries again after a 429, a 5xx or a broken connection. @throws {Broken} when the last try breaks */
  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.#until({ method: 'GET', path, headers: this.#headers(headers) });
  }

  /** Reads like {@link get}, by a POST that appends nothing. @param written the write that the answer must include */
  ask(path: string, body: unknown, written?: Reply): Promise<Reply> {
    return this.#until({ method: 'POST', path, body, headers: this.#headers(after(written)) });
  }

  async #until(call: Call): Promise<Reply> {
    for (let tries = 1; ; tries += 1) {
      try {
        const reply = await this.#dice.pick(this.#nodes()).call(call);
        if (!isPassing(reply.status) || tries >= READ_TRIES) return reply;
      } catch (error) {
        if (!(error instanceof Broken) || tries >= READ_TRIES) throw error;
      }
      await this.#world.time.pause(this.#dice.number() * 500);
    }
  }

  /** Reads at any node. The answer must include the write, even when the node's read models do not have it yet. */
  async getAfter(written: Reply | undefined, path: string): Promise<Reply> {
    return this.get(path, after(written));
  }

  /** Writes, mostly under a key, in at most `TRIES` tries; a POST without a key is not repeated. */
  async write(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body: unknown,
    { what, event }: { readonly what: string; readonly event?: string | undefined },
  ): Promise<Reply | undefined> {
    const { time, note } = this.#world;
    const id = `r${String(this.#requests.length + 1).padStart(5, '0')}`;
    const request: Request = {
      id,
      what,
      by: this.#by,
      event,
      outcome: 'unknown',
      isRepeated: false,
      reply: undefined,
    };
    this.#requests.push(request);
    const isKeyed = method !== 'DELETE' && this.#dice.chance(0.9);
    const headers = this.#headers({
      'x-request-id': id,
      ...(isKeyed ? { 'idempotency-key': `key-${id}` } : {}),
    });
    for (let tries = 1; tries <= TRIES; tries += 1) {
      request.isRepeated = !isKeyed && tries > 1;
      const node = this.#dice.pick(this.#nodes());
      try {
        const reply = await node.call({ method, path, headers, body });
        note(`${id} ${what} at ${node.name}: ${reply.status}`);
        request.reply = reply;
        if (!isPassing(reply.status)) {
          const isRefused = reply.status >= 400;
          // A repeat without a key may be refused because the first try succeeded. Any repeat may be refused for
          // one of these reasons: others have deleted its target since; the first try has ended the session or used
          // the link; a language model now gives a wrong answer to the same question (seed 11335).
          const isGone = reply.status === 401 || reply.status === 404;
          if (isRefused && tries > 1 && (!isKeyed || isGone || isUnexpected(reply))) return reply;
          request.outcome = isRefused ? 'refused' : 'acknowledged';
          return reply;
        }
      } catch (error) {
        if (!(error instanceof Broken)) throw error;
        note(`${id} ${what} at ${node.name}: ${error.message}`);
      }
      // Without a key, another try could have the effect twice.
      if (!isKeyed && method === 'POST') return undefined;
      await time.pause(this.#dice.delay(300, 3_000));
    }
    return undefined;
  }

  #headers(own: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return this.#token === undefined ? own : { authorization: `Bearer ${this.#token}`, ...own };
  }
}
