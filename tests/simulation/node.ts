import type { Server } from 'node:http';
import type { Adapters } from '../../api/compose/adapters.ts';
import { type Platform, startPlatform } from '../../api/platform.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Config } from '../../infrastructure/config.ts';
import { Broken, type Call, call, disconnect, type Reply } from './network.ts';
import type { Owner, VirtualTime } from './virtual-time.ts';

export interface NodeOptions {
  readonly name: string;
  readonly config: Config;
  readonly adapters: (node: SimulatedNode) => Adapters;
  readonly logger: Logger;
  readonly time: VirtualTime;
  /** Wall clock (ms) at the start of the run. */
  readonly startedAt: number;
}

/** Interval (ms) of looking for generations to build: rare, since each look of each node costs time. */
const LOOK_MS = 4_000;

/** The product as one process. A kill ends its timers and calls for good; a new start has only the stores. */
export class SimulatedNode {
  readonly name: string;
  readonly #options: NodeOptions;
  #platform: Platform | undefined;
  /** All platforms that were started, also killed ones, for {@link dispose}. */
  readonly #all: Platform[] = [];
  #owner: Owner = { isAlive: false, stalledUntil: 0 };
  /** Difference (ms) between the node's wall clock and the clock of the run. */
  clockSkew = 0;
  /** Makes the node die at one of its next calls of a store, before or after the call took effect. */
  diesAt: 'call' | 'answer' | undefined;
  #died = Promise.withResolvers<never>();
  isReady = false;
  /** Number of HTTP requests that the node was sent. */
  calls = 0;

  constructor(options: NodeOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Rejects when the node dies. */
  get died(): Promise<never> {
    return this.#died.promise;
  }

  get owner(): Owner {
    return this.#owner;
  }

  get isAlive(): boolean {
    return this.#owner.isAlive;
  }

  /** Whether it serves and does not stall. */
  get runs(): boolean {
    return this.isReady && this.#owner.stalledUntil <= this.#options.time.now;
  }

  get role(): Config['ROLE'] {
    return this.#options.config.ROLE;
  }

  get server(): Server | undefined {
    return this.isReady ? this.#platform?.server : undefined;
  }

  get platform(): Platform | undefined {
    return this.#platform;
  }

  /** Resolves when the node serves, rejects when the start fails; may never settle when the node is killed before. */
  async start(): Promise<void> {
    const { time, config, adapters, logger, startedAt } = this.#options;
    const owner: Owner = { isAlive: true, stalledUntil: 0 };
    this.#owner = owner;
    this.#died = Promise.withResolvers<never>();
    this.#died.promise.catch(() => undefined);
    this.diesAt = undefined;
    await time.as(owner, async () => {
      const clock = { now: () => Math.floor(startedAt + time.now + this.clockSkew) };
      const platform = await startPlatform({
        config,
        logger,
        clock,
        adapters: adapters(this),
        lookMs: LOOK_MS,
      });
      this.#all.push(platform);
      if (this.#owner !== owner || !owner.isAlive) return;
      this.#platform = platform;
      platform.started();
      this.isReady = true;
    });
  }

  /** Kills the node at its `events`-th event from now, which can be between any two asynchronous steps. */
  dieAfter(events: number): void {
    this.#owner.ending = { left: events, end: () => this.kill() };
  }

  stall(ms: number): void {
    this.#owner.stalledUntil = this.#options.time.now + ms;
  }

  kill(): void {
    this.#owner.isAlive = false;
    // Ticks of the killed platform still run, and must not kill the next one.
    this.#owner.ending = undefined;
    this.isReady = false;
    this.#platform = undefined;
    this.diesAt = undefined;
    this.#died.reject(new Broken(`${this.name} was killed`));
  }

  /** Ends the signals and connections of killed platforms, which would otherwise stay in memory for good. */
  dispose(): void {
    for (const platform of this.#all.splice(0)) {
      disconnect(platform.server);
      void platform.stop();
    }
  }

  /** @throws {Broken} when the node is down or dies before it has answered */
  async call(request: Call): Promise<Reply> {
    const { server } = this;
    if (server === undefined) throw new Broken(`${this.name} is down`);
    this.calls += 1;
    return Promise.race([
      this.#options.time.as(this.#owner, () => call(server, request)),
      this.#died.promise,
    ]);
  }
}
