import { expect } from 'chai';
import type { Position } from '../../../application/ports/event-store.ts';
import {
  Fenced,
  leaseNameOf,
  leaseNameOfSubscriber,
  type SubscriberProgress,
} from '../../../application/ports/read-store.ts';
import { at, type Context, isFenced, newGeneration, put, until, workbench } from './support.ts';

const newLease = (): string => `test:${newGeneration().projection}`;

export function leaseTests({ store, harness }: Context): void {
  describe('leases', () => {
    it('are granted to one of many concurrent owners', async () => {
      const stores = [store(), ...(await Promise.all([1, 2, 3].map(() => harness().open())))];
      for (let round = 0; round < 3; round += 1) {
        const name = newLease();
        const racers = Array.from({ length: 16 }, (_, n) =>
          stores[n % stores.length]?.acquireLease(name, `owner-${n}`, 60_000),
        );
        const given = (await Promise.all(racers)).filter((lease) => lease !== undefined);
        expect(given).to.have.length(1);
        expect(given[0]).to.include({ name, fence: 1 });
      }
      await Promise.all(stores.slice(1).map((each) => each.close()));
    });

    it('are granted to one of many owners after an old lease has expired', async () => {
      const name = newLease();
      await store().acquireLease(name, 'old', 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const racers = Array.from({ length: 16 }, (_, n) => store().acquireLease(name, `owner-${n}`, 60_000));
      const given = (await Promise.all(racers)).filter((lease) => lease !== undefined);
      expect(given.map((lease) => lease.fence)).to.deep.equal([2]);
    });

    it('are not needed to list the stored generations of a projection', async () => {
      const { projection } = newGeneration();
      expect(await store().generations(projection)).to.deep.equal([]);
      for (const tag of ['v2', 'v1']) await store().prepare({ projection, tag }, []);
      await store().prepare({ projection: `${projection}x`, tag: 'v3' }, []);
      expect(await store().generations(projection)).to.deep.equal(['v1', 'v2']);
      await store().drop({ projection, tag: 'v1' });
      expect(await store().generations(projection)).to.deep.equal(['v2']);
    });

    it('are held from their grant until they end or expire', async () => {
      const name = newLease();
      expect(await store().isLeaseHeld(name)).to.equal(false);
      const lease = await store().acquireLease(name, 'a', 60_000);
      expect(await store().isLeaseHeld(name)).to.equal(true);
      if (lease !== undefined) await store().releaseLease(lease);
      expect(await store().isLeaseHeld(name)).to.equal(false);
      await store().acquireLease(name, 'b', 1);
      await until(async () => ((await store().isLeaseHeld(name)) ? undefined : true));
    });

    it('are renewed by their owner under the same fence', async () => {
      const name = newLease();
      const first = await store().acquireLease(name, 'a', 60_000);
      expect(await store().acquireLease(name, 'b', 60_000)).to.equal(undefined);
      expect(await store().acquireLease(name, 'a', 60_000)).to.deep.equal(first);
      expect(await store().acquireLease(name, 'b', 60_000)).to.equal(undefined);
    });

    it('are taken in one call, in which each lease is granted or refused on its own', async () => {
      const [taken, own, free] = [newLease(), newLease(), newLease()];
      await store().acquireLease(taken, 'b', 60_000);
      const renewed = await store().acquireLease(own, 'a', 60_000);
      const given = await store().acquireLeases([taken, own, free], 'a', 60_000);
      expect(given).to.deep.equal([undefined, renewed, { name: free, owner: 'a', fence: 1 }]);
      expect(await store().acquireLeases([free, taken], 'b', 60_000)).to.deep.equal([
        undefined,
        { name: taken, owner: 'b', fence: 1 },
      ]);
      expect(await store().acquireLeases([], 'a', 60_000)).to.deep.equal([]);
    });

    it('live while they are renewed, and no longer', async () => {
      const name = newLease();
      // Long enough for a call on a busy machine, and shorter than all renewals together.
      const ttlMs = 600;
      await store().acquireLease(name, 'a', ttlMs);
      for (let renewal = 0; renewal < 8; renewal += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect((await store().acquireLease(name, 'a', ttlMs))?.fence).to.equal(1);
        expect(await store().acquireLease(name, 'b', 60_000)).to.equal(undefined);
      }
      const taken = await until(() => store().acquireLease(name, 'b', 60_000));
      expect(taken).to.deep.equal({ name, owner: 'b', fence: 2 });
      expect(await store().acquireLease(name, 'a', 60_000)).to.equal(undefined);
    });

    it('keep their fence after a release', async () => {
      const name = newLease();
      for (const [nth, owner] of ['a', 'a', 'b', 'a'].entries()) {
        const lease = await store().acquireLease(name, owner, 60_000);
        expect(lease).to.deep.equal({ name, owner, fence: nth + 1 });
        if (lease !== undefined) await store().releaseLease(lease);
      }
    });

    it('are released by their holder only', async () => {
      const name = newLease();
      const old = await store().acquireLease(name, 'a', 1);
      const now = await until(() => store().acquireLease(name, 'b', 60_000));
      if (old !== undefined) await store().releaseLease(old);
      await store().releaseLease({ ...now, owner: 'c' });
      await store().releaseLease({ ...now, name: `${name}-other` });
      expect(await store().acquireLease(name, 'c', 60_000)).to.equal(undefined);
    });

    it('treat an owner as a name, not as an expression', async () => {
      const name = newLease();
      expect((await store().acquireLease(name, '$fence', 60_000))?.owner).to.equal('$fence');
      expect(await store().acquireLease(name, '$owner', 60_000)).to.equal(undefined);
    });
  });

  describe('fencing', () => {
    it('refuses all writes of an old holder', async () => {
      const { generation, fence, commit, value, ids } = await workbench(store());
      await commit([put('a', 1, { n: 1 })], 1);
      const parked = { tenant: 't', position: at(1), event_id: 'e', error: 'x', since: 's', attempts: 1 };
      await store().park(generation, fence, parked);
      await store().releaseLease({ name: leaseNameOf(generation), owner: 'tester', fence });
      const next = await store().acquireLease(leaseNameOf(generation), 'other', 60_000);
      expect(next?.fence).to.equal(fence + 1);

      await isFenced(commit([put('a', 2, { n: 2 }), put('b', 2, { n: 2 })], 2));
      await isFenced(commit([put('a', 2, null)]));
      await isFenced(store().park(generation, fence, { ...parked, attempts: 2 }));
      await isFenced(store().unpark(generation, fence, 't'));
      expect(await value('a')).to.deep.equal({ n: 1 });
      expect(await ids()).to.deep.equal(['a']);
      expect(await store().state(generation)).to.deep.equal({ checkpoint: at(1), parked: [parked] });

      await commit([put('a', 2, { n: 2 })], 2, fence + 1);
      expect(await value('a')).to.deep.equal({ n: 2 });
    });

    it('refuses an unknown fence, and a generation without a lease', async () => {
      const { generation, fence, commit } = await workbench(store());
      await isFenced(commit([], 1, fence + 1));
      const unleased = { ...generation, tag: 'v2' };
      await store().prepare(unleased, []);
      await isFenced(store().commit({ generation: unleased, fence: 1, writes: [], checkpoint: at(1) }));
    });

    it('holds for each of the checkpoints that are stored together', async () => {
      const all = [await workbench(store()), await workbench(store()), await workbench(store())] as const;
      const [free, lost, ahead] = all;
      await ahead.commit([], 5);
      await store().releaseLease({ name: leaseNameOf(lost.generation), owner: 'tester', fence: lost.fence });
      await store().acquireLease(leaseNameOf(lost.generation), 'other', 60_000);
      const save = (n: number) =>
        store().saveCheckpoints(
          all.map(({ generation, fence }) => ({ generation, fence, checkpoint: at(n) })),
        );
      const refused = (await save(3)).map((refusal) => refusal instanceof Fenced);
      expect(refused).to.deep.equal([false, true, true]);
      expect((await save(6)).map((refusal) => refusal?.name)).to.deep.equal([undefined, 'Fenced', undefined]);
      const states = await store().states(all.map(({ generation }) => generation));
      expect(states.map(({ checkpoint }) => checkpoint)).to.deep.equal([at(6), undefined, at(6)]);
      expect(await store().state(free.generation)).to.deep.equal(states[0]);
      const held = [free, ahead].map(({ generation, fence }) => ({ generation, fence, checkpoint: at(7) }));
      expect(await store().saveCheckpoints(held)).to.deep.equal([undefined, undefined]);
      expect((await store().state(ahead.generation)).checkpoint).to.equal(at(7));
      expect(await store().saveCheckpoints([])).to.deep.equal([]);
    });

    it('is per generation', async () => {
      const one = await workbench(store());
      const rebuilt = { ...one.generation, tag: 'v1.2' };
      await store().prepare(rebuilt, []);
      await store().acquireLease(leaseNameOf(rebuilt), 'other', 60_000);
      await one.commit([put('a', 1, { n: 1 })], 1);
      expect(await one.ids()).to.deep.equal(['a']);
    });

    it('protects the checkpoints of subscribers', async () => {
      const name = newGeneration().projection;
      const lease = leaseNameOfSubscriber(name);
      const progress = (n: number, behind: SubscriberProgress['behind'] = new Map()) => ({
        position: at(n),
        behind,
      });
      expect(await store().subscriberProgress(name)).to.equal(undefined);
      await isFenced(store().saveSubscriberProgress(name, 1, progress(1)));
      await store().acquireLease(lease, 'a', 1);
      const behind = new Map<string, Position | ''>([
        ['acme', at(1)],
        ['other', ''],
      ]);
      await store().saveSubscriberProgress(name, 1, progress(3));
      await store().saveSubscriberProgress(name, 1, progress(3, behind));
      await isFenced(store().saveSubscriberProgress(name, 1, progress(2)));
      await until(() => store().acquireLease(lease, 'b', 60_000));
      await isFenced(store().saveSubscriberProgress(name, 1, progress(4)));
      expect(await store().subscriberProgress(name)).to.deep.equal(progress(3, behind));
      await store().saveSubscriberProgress(name, 2, progress(5));
      expect(await store().subscriberProgress(name)).to.deep.equal(progress(5));
    });
  });

  describe('progress', () => {
    it('parks and unparks tenants', async () => {
      const { generation, fence } = await workbench(store());
      const parked = {
        tenant: 'b',
        position: at(4),
        event_id: 'e1',
        error: 'bad',
        since: '2026-01-01',
        attempts: 1,
      };
      await store().park(generation, fence, parked);
      await store().park(generation, fence, { ...parked, tenant: 'a' });
      await store().park(generation, fence, { ...parked, attempts: 2 });
      const expected = [
        { ...parked, tenant: 'a' },
        { ...parked, attempts: 2 },
      ];
      expect((await store().state(generation)).parked).to.deep.equal(expected);
      await store().unpark(generation, fence, 'a');
      await store().unpark(generation, fence, 'nobody');
      expect((await store().state(generation)).parked).to.deep.equal(expected.slice(1));
    });

    it('keeps which generation is active and which is building', async () => {
      const { projection } = newGeneration();
      const none = { active: undefined, building: undefined };
      expect(await store().activeGeneration(projection)).to.deep.equal(none);
      for (const state of [
        { active: 'v1', building: undefined },
        { active: 'v1', building: 'v2' },
        { active: 'v2', building: undefined },
        none,
      ]) {
        await store().setActiveGeneration(projection, state);
        expect(await store().activeGeneration(projection)).to.deep.equal(state);
        expect(await store().activeGenerations(['unknown', projection])).to.deep.equal([none, state]);
      }
    });

    it('answers a ping', async () => {
      await store().ping();
    });
  });
}
