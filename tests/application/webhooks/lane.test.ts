import { expect } from 'chai';
import type { LoggedEvent } from '../../../application/codec.ts';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import type { Attempts, OwnOfAttempt } from '../../../application/webhooks/attempts.ts';
import type { DeliveryQueue } from '../../../application/webhooks/backlog.ts';
import type { FoundDelivery } from '../../../application/webhooks/delivery-reader.ts';
import { Lane } from '../../../application/webhooks/lane.ts';
import { Turns } from '../../../application/webhooks/turns.ts';
import { deliveryDecider } from '../../../domain/webhooks/delivery.ts';
import { eventually, severalTurns } from '../../support/eventually.ts';
import { testClock, testLogger } from '../../support/fakes.ts';

const FOUND: FoundDelivery = {
  head: { state: deliveryDecider.initial, revision: 0, hash: '', at: 0, position: undefined },
  body: [],
  readAt: 0,
};

// Handed on as it is: only its position is looked at.
const EVENT = { position: undefined } as unknown as LoggedEvent;

/** A lane with deliveries that wait, and what was at hand when each was attempted. */
const laneOf = (
  ids: readonly string[],
  { ordered = false, attempt = () => undefined }: { ordered?: boolean; attempt?: (id: string) => void } = {},
) => {
  const waiting = new Set(ids);
  const made: { id: string; own: OwnOfAttempt; found: FoundDelivery | undefined }[] = [];
  const gathered: string[] = [];
  const kept: ReadonlyMap<string, FoundDelivery>[] = [];
  const looks = { count: 0 };
  const attempts: Pick<Attempts, 'subscription' | 'waits' | 'gather' | 'hurry' | 'make'> = {
    // Looked at by nobody but `waits`.
    subscription: async () => ({}) as Awaited<ReturnType<Attempts['subscription']>>,
    waits: async () => false,
    gather: async (_tenantId, some) => {
      gathered.push(...some);
      const found = new Map(some.map((id) => [id, FOUND]));
      kept.push(found);
      return found;
    },
    hurry: () => undefined,
    make: async (_tenantId, id, _signal, own = {}) => {
      made.push({ id, own, found: own.found?.() });
      attempt(id);
      waiting.delete(id);
      own.delivered?.();
      return { outcome: 'delivered', position: undefined };
    },
  };
  const queue: DeliveryQueue = {
    subscriptions: async function* () {},
    pending: async (_lane, limit) => {
      looks.count += 1;
      return [...waiting].slice(0, limit).map((id) => ({ id, dueAt: 0 }));
    },
  };
  const turns = new Turns({ total: 1, perTenant: 1, reserved: 0 });
  const stopping = new AbortController();
  const deps = {
    queue,
    // All that a lane asks of it.
    attempts: attempts as Attempts,
    turns,
    clock: testClock(),
    logger: testLogger(),
    sleep: () => severalTurns(3),
  };
  const signals = { stopping: stopping.signal, calls: new AbortController().signal };
  const lane = new Lane({ tenantId: 'acme', subscriptionId: 'one', ordered }, deps, signals);
  const run = async (until: () => unknown): Promise<void> => {
    const done = lane.run(() => undefined);
    await eventually(until);
    stopping.abort();
    await done;
  };
  return { lane, turns, run, made, gathered, kept, looks };
};

describe('a lane', () => {
  it('sends what it has read ahead', async () => {
    const { run, made } = laneOf(['a', 'b', 'c']);
    await run(() => expect(made).to.have.length(3));
    expect(made.map(({ found }) => found)).to.deep.equal([FOUND, FOUND, FOUND]);
  });

  it('holds nothing of what it has sent: that would live until it is too old to be used', async () => {
    const { run, made, kept } = laneOf(['a', 'b', 'c']);
    await run(() => expect(made).to.have.length(3));
    expect(kept.map(({ size }) => size)).to.deep.equal([0]);
  });

  it('looks anew at what it has read ahead when it hears of a change before its turn has come', async () => {
    const { run, made, lane, turns, gathered } = laneOf(['a', 'b', 'c']);
    const giveBack = await turns.take('others', 'theirs');
    const done = run(() => expect(made).to.have.length(3));
    await eventually(() => expect(gathered).to.have.length(3));
    // All that may be under way waits for a turn now.
    await severalTurns();
    lane.wake();
    giveBack();
    await done;
    expect(made.map(({ found }) => found)).to.deep.equal([undefined, undefined, undefined]);
  });

  it('reads nothing ahead of what goes in order: it has been tried before', async () => {
    const { run, made, gathered } = laneOf(['a', 'b', 'c'], { ordered: true });
    await run(() => expect(made).to.have.length(3));
    expect(gathered).to.deep.equal([]);
  });

  it('keeps what has just been made at hand where it is sent at once, and not where it has to wait', async () => {
    const { run, made, lane, turns, looks } = laneOf([]);
    const done = run(() => expect(made).to.have.length(2));
    await eventually(() => expect(looks.count).to.equal(1));
    await severalTurns();
    lane.offer('a', EVENT);
    await severalTurns();
    const giveBack = await turns.take('others', 'theirs');
    lane.offer('b', EVENT);
    await severalTurns();
    giveBack();
    await done;
    expect(made.map(({ id, own }) => [id, own.made])).to.deep.equal([
      ['a', EVENT],
      ['b', undefined],
    ]);
  });

  it('keeps the order when the store fails for a moment', async () => {
    let fails = 1;
    const attempt = (): void => {
      if (fails-- > 0) throw new StoreUnavailable('no connection');
    };
    const { run, made } = laneOf(['a', 'b', 'c'], { ordered: true, attempt });
    await run(() => expect(made.length).to.be.at.least(4));
    expect(made.map(({ id }) => id)).to.deep.equal(['a', 'a', 'b', 'c']);
  });

  it('goes on with the next when one can never be sent', async () => {
    const attempt = (id: string): void => {
      if (id === 'a') throw new Error('a delivery without its body');
    };
    const { run, made } = laneOf(['a', 'b', 'c'], { ordered: true, attempt });
    await run(() => expect(new Set(made.map(({ id }) => id)).size).to.equal(3));
    expect(made.slice(0, 3).map(({ id }) => id)).to.deep.equal(['a', 'b', 'c']);
  });
});
