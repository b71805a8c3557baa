import { expect } from 'chai';
import { Generation } from '../../../../application/core/projections/generation.ts';
import { StoreUnavailable } from '../../../../application/ports/event-store.ts';
import { type BatchWrite, Fenced, type ReadStore } from '../../../../application/ports/read-store.ts';
import { projection, touch } from '../../../../domain/core/projection.ts';
import { openSqliteReadStore } from '../../../../infrastructure/read-store/sqlite/store.ts';
import type { BookEvent } from '../../../support/book.ts';
import { gate, rejection } from '../../../support/eventually.ts';
import { silentMetrics } from '../../../support/fakes.ts';
import {
  endOf,
  GENERATION,
  poison,
  type ReadModelKit,
  readModelKit,
  type Tally,
  takeLease,
  tallies,
  undecodable,
} from '../../../support/read-model-kit.ts';

type Mode = 'before' | 'after';

/** A read store that fails once, at its n-th write, before or after the write took effect. */
const dying = (store: ReadStore, at: number, mode: Mode): { store: ReadStore; calls: () => number } => {
  let calls = 0;
  const perhaps = async <T>(work: () => Promise<T>): Promise<T> => {
    calls += 1;
    if (calls === at && mode === 'before') throw new StoreUnavailable('gone');
    const result = await work();
    if (calls === at && mode === 'after') throw new StoreUnavailable('gone');
    return result;
  };
  return {
    calls: () => calls,
    store: {
      ...store,
      commit: (batch) => perhaps(() => store.commit(batch)),
      park: (...args) => perhaps(() => store.park(...args)),
      unpark: (...args) => perhaps(() => store.unpark(...args)),
    },
  };
};

const started = async (kit: ReadModelKit, store: ReadStore = kit.store): Promise<Generation> => {
  await kit.store.prepare(GENERATION, tallies().collections);
  const folder = kit.generation(kit.events, store);
  await folder.begin(await kit.lease());
  return folder;
};
/** Folds the log from the stored checkpoint in batches of `size`, and restarts after each failure. */
const foldAll = async (kit: ReadModelKit, store: ReadStore, size = 4): Promise<Generation> => {
  for (let tries = 0; tries < 5; tries += 1) {
    const folder = await started(kit, store);
    try {
      for (;;) {
        const batch = await kit.events.readAll({ from: folder.checkpoint, limit: size });
        if (batch.length === 0) return folder;
        await folder.apply(batch, endOf(batch));
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
  throw new Error('it never came to an end');
};

/** Three tenants; the poison event of `acme` is in the middle of a batch. */
const story = async (): Promise<ReadModelKit> => {
  const kit = await readModelKit();
  for (const [tenant, entry, text] of [
    ['acme', 'a1'],
    ['beta', 'b1'],
    ['acme', 'a2'],
    ['gamma', 'g1'],
    ['beta', 'b2'],
    ['acme', 'a3', 'poison'],
    ['beta', 'b3'],
    ['acme', 'a4'],
    ['gamma', 'g2'],
    ['acme', 'a5'],
  ] as const) {
    await kit.write(tenant, entry, text);
  }
  return kit;
};
const everything = async (kit: ReadModelKit) => ({
  acme: await kit.tally('acme'),
  beta: await kit.tally('beta'),
  gamma: await kit.tally('gamma'),
});
const OTHERS = { beta: ['b1', 'b2', 'b3'], gamma: ['g1', 'g2'] };

describe('a generation', () => {
  beforeEach(() => {
    poison.active = true;
  });

  it('folds events in order and reports its checkpoint', async () => {
    poison.active = false;
    const kit = await story();
    const folder = await foldAll(kit, kit.store);
    expect(await everything(kit)).to.deep.equal({ acme: ['a1', 'a2', 'a3', 'a4', 'a5'], ...OTHERS });
    const end = await kit.events.end();
    expect(folder.checkpoint).to.equal(end);
    expect((await kit.store.state(GENERATION)).checkpoint).to.equal(end);
  });

  it('ignores repeated events', async () => {
    poison.active = false;
    const kit = await story();
    const log = await kit.events.readAll();
    const folder = await started(kit);
    await folder.apply(log, endOf(log));
    for (const from of [0, 3, 9]) await folder.apply(log.slice(from), endOf(log));
    expect((await everything(kit)).acme).to.deep.equal(['a1', 'a2', 'a3', 'a4', 'a5']);
    const again = await started(kit);
    await again.apply(log, endOf(log));
    expect((await everything(kit)).acme).to.deep.equal(['a1', 'a2', 'a3', 'a4', 'a5']);
  });

  it('does not write an unchanged document', async () => {
    const kit = await readModelKit();
    for (const entry of ['a1', 'a2', 'a3']) await kit.write('acme', entry);
    const kept = projection<BookEvent>({
      name: 'tallies',
      version: 1,
      collections: [{ name: 'tallies', indexes: [] }],
      on: {
        EntryWritten: ({ data }) => [
          touch<Tally>('tallies', 'one', (tally) => tally ?? { entries: [data.entry] }),
          // The first of two touches of one event changes the document, the second does not: the change is written.
          touch<Tally>('tallies', 'two', (tally) => ({ entries: [...(tally?.entries ?? []), data.entry] })),
          touch<Tally>('tallies', 'two', (tally) => tally),
        ],
      },
    });
    const { codec, logger, clock } = kit.node;
    const written: string[] = [];
    const store: ReadStore = {
      ...kit.store,
      commit: (batch: BatchWrite) => {
        written.push(...batch.writes.map(({ id }) => id));
        return kit.store.commit(batch);
      },
    };
    const folder = new Generation(kept, GENERATION, {
      events: kit.events,
      store,
      codec,
      logger,
      clock,
      metrics: silentMetrics,
    });
    await kit.store.prepare(GENERATION, kept.collections);
    await folder.begin(await kit.lease());
    for (const event of await kit.events.readAll()) await folder.apply([event], event.position);
    expect(written).to.deep.equal(['one', 'two', 'two', 'two']);
    const key = { collection: 'tallies', tenant: 'acme' };
    expect((await kit.store.get(GENERATION, { ...key, id: 'one' }))?.value).to.deep.equal({
      entries: ['a1'],
    });
    expect((await kit.store.get(GENERATION, { ...key, id: 'two' }))?.value).to.deep.equal({
      entries: ['a1', 'a2', 'a3'],
    });
  });

  it('deletes documents and creates them again', async () => {
    const kit = await readModelKit();
    for (const entry of ['a1', 'CLOSE', 'a2', 'a3']) await kit.write('acme', entry);
    await foldAll(kit, kit.store, 1);
    expect(await kit.tally('acme')).to.deep.equal(['a2', 'a3']);
  });

  it('parks the tenant of a poison event and continues with the others', async () => {
    const kit = await story();
    for (const size of [1, 4, 100]) {
      const fresh = { ...kit, store: await openSqliteReadStore({ path: ':memory:' }) };
      const folder = await foldAll({ ...kit, ...(await rewired(kit, fresh.store)) }, fresh.store, size);
      const tally = async (id: string) =>
        (await fresh.store.get(GENERATION, { collection: 'tallies', tenant: id, id: 'one' }))?.value;
      expect(await tally('acme')).to.deep.equal({ entries: ['a1', 'a2'] });
      expect(await tally('beta')).to.deep.equal({ entries: OTHERS.beta });
      expect(folder.isParked('acme')).to.equal(true);
      const [parked] = (await fresh.store.state(GENERATION)).parked;
      expect(parked).to.include({ tenant: 'acme', attempts: 1, error: 'a poison event' });
    }
  });

  it('continues with the others after a poison event in a stream of another program', async () => {
    const kit = await readModelKit();
    await kit.events.append('invoice-1', 'no_stream', [undecodable(kit.node.ids.next())]);
    await kit.write('acme', 'a1');
    const folder = await foldAll(kit, kit.store);
    expect(await kit.tally('acme')).to.deep.equal(['a1']);
    expect(folder.parkedTenants).to.deep.equal(['']);
  });

  it('writes nothing of an event that fails in its second document', async () => {
    const kit = await story();
    await foldAll(kit, kit.store);
    expect(await kit.store.get(GENERATION, { collection: 'entries', tenant: 'acme', id: 'a3' })).to.equal(
      undefined,
    );
  });

  for (const mode of ['before', 'after'] as const) {
    it(`folds each event once when it crashes ${mode} any of its writes`, async () => {
      for (let at = 1; ; at += 1) {
        poison.active = true;
        const kit = await story();
        const { store, calls } = dying(kit.store, at, mode);
        await foldAll(kit, store);
        expect(await everything(kit), `death at write ${at}`).to.deep.equal({
          acme: ['a1', 'a2'],
          ...OTHERS,
        });
        poison.active = false;
        const folder = await started(kit);
        await folder.retry('acme');
        expect((await everything(kit)).acme, `after a retry, death at write ${at}`).to.deep.equal([
          'a1',
          'a2',
          'a3',
          'a4',
          'a5',
        ]);
        if (calls() < at) return;
      }
    });

    it(`unparks a tenant completely at the second retry when the first crashes ${mode} any of its writes`, async () => {
      for (let at = 1; ; at += 1) {
        poison.active = true;
        const kit = await story();
        await foldAll(kit, kit.store);
        poison.active = false;
        const { store, calls } = dying(kit.store, at, mode);
        await (await started(kit, store)).retry('acme').catch((error: unknown) => {
          if (!(error instanceof StoreUnavailable)) throw error;
        });
        await (await started(kit)).retry('acme');
        expect(await everything(kit)).to.deep.equal({ acme: ['a1', 'a2', 'a3', 'a4', 'a5'], ...OTHERS });
        expect((await kit.store.state(GENERATION)).parked).to.deep.equal([]);
        if (calls() < at) return;
      }
    });
  }

  describe('retries a parked tenant', () => {
    it('up to the state of a fresh fold, and continues with later events', async () => {
      const kit = await story();
      const folder = await foldAll(kit, kit.store);
      poison.active = false;
      await folder.retry('acme');
      expect(folder.isParked('acme')).to.equal(false);
      await kit.write('acme', 'a6');
      const rest = await kit.events.readAll({ from: folder.checkpoint });
      await folder.apply(rest, endOf(rest));
      expect((await everything(kit)).acme).to.deep.equal(['a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
    });

    it('repeatedly, and counts the attempts', async () => {
      const kit = await story();
      const folder = await foldAll(kit, kit.store);
      for (const attempts of [2, 3]) {
        await folder.retry('acme');
        expect((await kit.store.state(GENERATION)).parked[0]).to.include({ tenant: 'acme', attempts });
      }
      expect((await everything(kit)).acme).to.deep.equal(['a1', 'a2']);
    });

    it('from the first event of the log over several pages', async () => {
      const kit = await readModelKit();
      const names = Array.from({ length: 620 }, (_, n) => `a${n}`);
      for (const name of names) await kit.write('acme', name, name === 'a0' ? 'poison' : name);
      const folder = await foldAll(kit, kit.store, 400);
      expect(await kit.tally('acme')).to.equal(undefined);
      poison.active = false;
      await folder.retry('acme');
      expect(await kit.tally('acme')).to.deep.equal(names);
    });

    it('which stays parked until the retry ends', async () => {
      const kit = await story();
      const [asked, answer] = [gate(), gate()];
      await foldAll(kit, kit.store);
      const slow: ReadStore = {
        ...kit.store,
        commit: async (batch) => {
          asked.open();
          await answer.passed;
          await kit.store.commit(batch);
        },
      };
      const folder = await started(kit, slow);
      poison.active = false;
      const retrying = folder.retry('acme');
      await asked.passed;
      expect(folder.isParked('acme'), 'a read must not be answered from the middle of a retry').to.equal(
        true,
      );
      answer.open();
      await retrying;
      expect(folder.isParked('acme')).to.equal(false);
    });

    it('and does nothing for a tenant that is not parked', async () => {
      const kit = await story();
      const folder = await foldAll(kit, kit.store);
      await folder.retry('beta');
      expect(await everything(kit)).to.deep.equal({ acme: ['a1', 'a2'], ...OTHERS });
    });
  });

  it('cannot write after its lease is lost, and the next holder continues from the stored state', async () => {
    poison.active = false;
    const kit = await story();
    const log = await kit.events.readAll();
    await kit.store.prepare(GENERATION, tallies().collections);
    const old = kit.generation();
    const short = await kit.lease('old');
    await old.begin(short);
    await old.apply(log.slice(0, 3), endOf(log.slice(0, 3)));
    await kit.store.releaseLease(short);
    const young = kit.generation();
    await young.begin(await takeLease(kit.store, GENERATION, 'young'));
    await young.apply(log.slice(3, 7), endOf(log.slice(3, 7)));
    expect(await rejection(old.apply(log.slice(3), endOf(log)))).to.be.instanceOf(Fenced);
    expect((await everything(kit)).beta).to.deep.equal(['b1', 'b2', 'b3']);
    expect((await everything(kit)).acme).to.deep.equal(['a1', 'a2', 'a3']);
    // The cache of `old` holds refused writes, so `begin` must clear it.
    await kit.store.releaseLease(await takeLease(kit.store, GENERATION, 'young'));
    await old.begin(await kit.lease('old'));
    await old.apply(log.slice(7), endOf(log));
    expect(await everything(kit)).to.deep.equal({ acme: ['a1', 'a2', 'a3', 'a4', 'a5'], ...OTHERS });
  });
});

/** A kit that folds the same log into another read store. */
const rewired = async (kit: ReadModelKit, store: ReadStore): Promise<Partial<ReadModelKit>> => ({
  store,
  generation: (events = kit.events, reads = store) => kit.generation(events, reads),
  lease: (owner = 'tester') => takeLease(store, GENERATION, owner),
});
