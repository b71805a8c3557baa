import type { OutboundAnswer, OutboundHttp, OutboundRequest } from '../../application/ports/outbound-http.ts';
import type { Dice } from './dice.ts';
import type { World } from './world.ts';

/** One call that a receiver of webhooks got. */
export interface Received {
  readonly url: string;
  readonly delivery: string;
  readonly body: string;
  readonly answered: number | 'nothing';
}

/** A host's handler: acts on a call that reaches it, and answers. */
export type Serve = (call: OutboundRequest) => { readonly status: number; readonly body?: unknown };

type Kind = 'fine' | 'error' | 'lost before' | 'lost after' | 'slow' | 'silent';

/** Hosts that the product calls: webhook receivers, and hosts with a handler. They may answer late, wrong or never. */
export class Hosts {
  /** Calls that receivers of webhooks got. */
  readonly received: Received[] = [];
  readonly #world: World;
  readonly #dice: Dice;
  readonly #servers = new Map<string, Serve>();
  #areHealthy = false;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  serve(host: string, serve: Serve): void {
    this.#servers.set(host, serve);
  }

  /** From now on every call reaches its host, and its answer arrives soon. */
  heal(): void {
    this.#areHealthy = true;
  }

  readonly outbound: OutboundHttp = {
    check: async () => ({ ok: true }),
    request: (call, signal) => this.#answer(call, signal),
  };

  async #answer(call: OutboundRequest, signal: AbortSignal | undefined): Promise<OutboundAnswer> {
    const { time } = this.#world;
    const dice = this.#dice;
    const kind = this.#areHealthy
      ? 'fine'
      : dice.weighted<Kind>([
          [80, 'fine'],
          [8, 'error'],
          [4, 'lost before'],
          [4, 'lost after'],
          [4, 'slow'],
          [3, 'silent'],
        ]);
    const failed: OutboundAnswer = { kind: 'failed', reason: 'connection', message: 'the connection broke' };
    const late: OutboundAnswer = {
      kind: 'failed',
      reason: 'timeout',
      message: 'the host did not answer in time',
    };
    const wait = kind === 'slow' ? dice.number() * 15_000 : dice.delay(20, 500);
    if (kind === 'silent' || wait > call.timeoutMs) {
      // A slow host takes the call after the product has given it up.
      if (kind === 'slow') time.after(wait, () => void this.#taken(call, 'lost after'), undefined);
      await time.pause(call.timeoutMs);
      signal?.throwIfAborted();
      return late;
    }
    await time.pause(wait);
    signal?.throwIfAborted();
    if (kind === 'lost before') return failed;
    const { status, body } = this.#taken(call, kind);
    await time.pause(dice.delay(10, 300));
    signal?.throwIfAborted();
    if (kind === 'lost after') return failed;
    const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
    return { kind: 'answered', status, headers: {}, body: bytes, truncated: false };
  }

  #taken(call: OutboundRequest, kind: Kind): ReturnType<Serve> {
    const serve = this.#servers.get(new URL(call.url).host);
    if (serve !== undefined) return kind === 'error' ? { status: this.#dice.pick([500, 503]) } : serve(call);
    const status = kind === 'error' ? this.#dice.pick([500, 503, 404]) : 200;
    const { headers, url, body = '' } = call;
    const answered = kind === 'lost after' ? 'nothing' : status;
    this.received.push({ url, delivery: headers['X-Service-Delivery'] ?? '', body: String(body), answered });
    return { status };
  }
}
