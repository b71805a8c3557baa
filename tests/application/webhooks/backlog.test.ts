import { expect } from 'chai';
import fc from 'fast-check';
import type { Position } from '../../../application/ports/event-store.ts';
import { Backlog, type Due } from '../../../application/webhooks/backlog.ts';

const LANE = { tenantId: 'acme', subscriptionId: 'one', ordered: false };
// A position is a text to everybody but the store.
const SEEN = 'p' as Position;

/** A read model that hears of what was done when it is told to, or when somebody waits for it. */
const lagging = (count: number, ordered = false) => {
  const truth = new Set(Array.from({ length: count }, (_, nth) => `${nth}`));
  const model = new Set(truth);
  const asked: { limit: number; waits: boolean }[] = [];
  const catchUp = (): void => {
    for (const id of model) if (!truth.has(id)) model.delete(id);
  };
  const backlog = new Backlog(
    { ...LANE, ordered },
    {
      subscriptions: async function* () {},
      pending: async (_lane, limit, seen) => {
        asked.push({ limit, waits: seen !== undefined });
        if (seen !== undefined) catchUp();
        return [...model].slice(0, limit).map((id): Due => ({ id, dueAt: 0 }));
      },
    },
  );
  const done = (id: string): void => {
    truth.delete(id);
    backlog.done(id);
  };
  return { backlog, asked, catchUp, done, truth };
};

const nobody = (): boolean => false;

describe('the backlog of a lane', () => {
  it('is gone through once, without waiting for the read model but at its beginning and its end', async () => {
    const { backlog, asked, done } = lagging(3_000);
    const seen: string[] = [];
    for (;;) {
      const page = await backlog.next(0, SEEN, nobody, 0);
      if (page.length === 0) break;
      for (const { id } of page) {
        seen.push(id);
        done(id);
      }
    }
    expect(seen).to.have.length(3_000);
    expect(new Set(seen).size).to.equal(3_000);
    expect(asked[0]?.waits).to.equal(true);
    expect(asked.at(-1)?.waits, 'that nothing is left is said by who knows').to.equal(true);
    expect(asked.filter(({ waits }) => !waits).length).to.be.greaterThan(3);
    // What is known to be done and not heard of yet is bounded, and with it what is asked for.
    expect(Math.max(...asked.map(({ limit }) => limit))).to.be.at.most(1_300);
  });

  it('is looked at anew each second: what fails meanwhile has its next turn though it never ends', async () => {
    const { backlog, asked, done } = lagging(5_000);
    for (let now = 0; now < 4_000; now += 250) {
      for (const { id } of await backlog.next(now, SEEN, nobody, 0)) done(id);
    }
    const waited = asked.flatMap(({ waits }, nth) => (waits ? [nth] : []));
    expect(waited).to.deep.equal([0, 4, 8, 12]);
  });

  it('that is short is asked for as it is', async () => {
    const { backlog, asked, done } = lagging(3);
    for (const { id } of await backlog.next(0, SEEN, nobody, 0)) done(id);
    expect(await backlog.next(0, SEEN, nobody, 0)).to.deep.equal([]);
    expect(asked.map(({ waits }) => waits)).to.deep.equal([true, true]);
  });

  it('is never taken from an old look where the order counts', async () => {
    const { backlog, asked, done } = lagging(1_000, true);
    for (let nth = 0; nth < 3; nth += 1) {
      for (const { id } of await backlog.next(0, SEEN, nobody, 0)) done(id);
    }
    expect(asked.every(({ waits }) => waits)).to.equal(true);
  });

  it('says of nothing that is done or under way that it waits, and leaves nothing out', async () => {
    const step = fc.record({ takes: fc.integer({ min: 1, max: 300 }), hears: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 1_500 }),
        fc.array(step, { maxLength: 12 }),
        async (count, steps) => {
          const { backlog, catchUp, done, truth } = lagging(count);
          const underWay = new Set<string>();
          const all = new Set<string>();
          const look = async (): Promise<readonly Due[]> => {
            const page = await backlog.next(0, SEEN, (id) => underWay.has(id), underWay.size);
            for (const { id } of page) {
              expect(underWay.has(id), 'under way').to.equal(false);
              expect(truth.has(id), 'done').to.equal(true);
            }
            return page;
          };
          const end = (): void => {
            for (const id of underWay) done(id);
            underWay.clear();
          };
          for (const { takes, hears } of steps) {
            for (const { id } of (await look()).slice(0, takes)) {
              all.add(id);
              underWay.add(id);
            }
            // All but the last sixteen have ended.
            for (const id of [...underWay].slice(0, -16)) {
              underWay.delete(id);
              done(id);
            }
            if (hears) catchUp();
          }
          end();
          for (let page = await look(); page.length > 0; page = await look()) {
            for (const { id } of page) {
              all.add(id);
              done(id);
            }
          }
          expect(all.size).to.equal(count);
        },
      ),
      { numRuns: 100 },
    );
  });
});
