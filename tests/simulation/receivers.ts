import type { OutboundAnswer, OutboundHttp, OutboundRequest } from '../../application/ports/outbound-http.ts';
import type { Dice } from './dice.ts';
import type { World } from './world.ts';

/** One call that a receiver got. */
export interface Received {
  readonly url: string;
  readonly delivery: string;
  readonly body: string;
  readonly answered: number | 'nothing';
}

/** Hosts of tenants: they answer late, wrong or never, and note what they got. */
export class Receivers {
  readonly received: Received[] = [];
  readonly #world: World;
  readonly #dice: Dice;
  #areHealthy = false;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  /** From now on every call is answered with 200. */
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
      : dice.weighted<'fine' | 'error' | 'lost before' | 'lost after' | 'slow'>([
          [80, 'fine'],
          [8, 'error'],
          [4, 'lost before'],
          [4, 'lost after'],
          [4, 'slow'],
        ]);
    await time.pause(kind === 'slow' ? dice.number() * 15_000 : dice.delay(20, 500));
    signal?.throwIfAborted();
    const failed: OutboundAnswer = { kind: 'failed', reason: 'connection', message: 'the connection broke' };
    if (kind === 'lost before') return failed;
    const status = kind === 'error' ? dice.pick([500, 503, 404]) : 200;
    const answered = kind === 'lost after' ? 'nothing' : status;
    const { headers, url, body = '' } = call;
    this.received.push({ url, delivery: headers['X-Service-Delivery'] ?? '', body: String(body), answered });
    await time.pause(dice.delay(10, 300));
    signal?.throwIfAborted();
    if (kind === 'lost after') return failed;
    return { kind: 'answered', status, headers: {}, body: Buffer.alloc(0), truncated: false };
  }
}
