import { appendingTests } from './event-store-parts/appending.ts';
import { type Context, type Factory, type Fixture, newPrefix } from './event-store-parts/helpers.ts';
import { modelTests } from './event-store-parts/model.ts';
import { readingTests } from './event-store-parts/reading.ts';
import { subscribingTests } from './event-store-parts/subscribing.ts';

export type { Factory, Fixture } from './event-store-parts/helpers.ts';

export interface Capabilities {
  /** Timeout of a test in ms. */
  readonly timeoutMs?: number | undefined;
  /** Random plans that are compared with a model; default 40. */
  readonly plans?: number | undefined;
}

/**
 * The contract of every adapter of the event store port. The log may be shared: each test writes under its own
 * prefix, and none asserts a literal position.
 */
export function eventStoreContract(name: string, factory: Factory, capabilities: Capabilities = {}): void {
  describe(`event store contract: ${name}`, function () {
    this.timeout(capabilities.timeoutMs ?? 20_000);
    let fixture: Fixture | undefined;
    const current = (): Fixture => {
      if (!fixture) throw new Error('the fixture is made before each test');
      return fixture;
    };
    beforeEach(async () => {
      fixture = await factory();
    });
    afterEach(async () => {
      await fixture?.dispose();
      fixture = undefined;
    });

    const context: Context = { fixture: current, store: () => current().store, prefix: newPrefix };
    appendingTests(context);
    readingTests(context);
    subscribingTests(context);
    modelTests(context, capabilities.plans ?? 40);
  });
}
