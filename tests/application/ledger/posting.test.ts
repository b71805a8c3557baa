import { expect } from 'chai';
import { DomainError } from '../../../domain/core/errors.ts';
import { refusalCode } from '../../support/eventually.ts';
import { memoryStores } from '../../support/node.ts';
import { crashingAt, seeded, withRandomYields } from '../entities/faults.ts';
import { draft, eventsOf, fill, type LedgerNode, move, request, startLedger, TENANT } from './support.ts';

const UNBALANCED = [
  { account_code: '1000', debit: 2 },
  { account_code: '4000', credit: 1 },
];

/** docs/decisions/0014-posting-over-two-streams.md */
describe('Posting', () => {
  const filled = async (): Promise<LedgerNode> => {
    const node = startLedger();
    await fill(node);
    return node;
  };

  it('appends no event when an error is found before the claim', async () => {
    const node = await filled();
    const id = await draft(node);
    await node.chart.lock(TENANT, '2026-12-31', request());
    const before = (await node.readAll()).length;
    expect(await refusalCode(node.posting.post(TENANT, id, request()))).to.equal('period_locked');
    expect(await node.readAll()).to.have.length(before);
  });

  it('closes the draft’s stream once the journal has the entry', async () => {
    const node = await filled();
    const id = await draft(node);
    await node.posting.post(TENANT, id, request());
    await node.posting.completeAttempt(TENANT, id);
    expect(eventsOf(await node.readAll(), id)).to.deep.equal([
      'EntryDrafted',
      'EntryPostingStarted',
      'EntryPostingSettled',
    ]);
  });

  it('leaves a draft and takes no number when the journal refuses at the last moment', async () => {
    const stores = memoryStores();
    const other = startLedger(stores);
    await fill(other);
    let locking: Promise<unknown> | undefined;
    const node = startLedger(stores, (events) => ({
      ...events,
      append: async (stream, expected, given) => {
        const result = await events.append(stream, expected, given);
        if (given.some(({ type }) => type === 'EntryPostingStarted')) {
          locking ??= other.chart.lock(TENANT, '2026-12-31', request());
          await locking;
        }
        return result;
      },
    }));
    const id = await draft(node);
    expect(await refusalCode(node.posting.post(TENANT, id, request()))).to.equal('period_locked');
    expect(await node.postingsOf()).to.deep.equal([]);
    const changed = await node.entries.change(TENANT, id, { memo: 'still a draft' }, request());
    expect(changed.draft.content.memo).to.equal('still a draft');
    await other.chart.lock(TENANT, null, request());
    expect((await node.posting.post(TENANT, id, request())).posting.data).to.include({
      number: 1,
      memo: 'still a draft',
    });
  });

  it('accepts a draft that another node has corrected, although this node cached the draft before', async () => {
    const stores = memoryStores();
    const [one, other] = [startLedger(stores), startLedger(stores)];
    await fill(one);
    await one.chart.lock(TENANT, '2026-03-31', request());
    const id = await draft(one, { date: '2026-03-15' });
    await one.entries.change(TENANT, id, { lines: UNBALANCED }, request());
    expect(await refusalCode(one.posting.post(TENANT, id, request()))).to.equal('unbalanced');
    const corrected = { date: '2026-04-01', lines: move('1000', '4000', 100) };
    await other.entries.change(TENANT, id, corrected, request());
    expect((await one.posting.post(TENANT, id, request())).posting.data).to.include({
      number: 1,
      date: '2026-04-01',
    });
  });

  it('has one winner among callers on two nodes at any interleaving', async () => {
    for (let seed = 0; seed < 40; seed += 1) {
      const stores = memoryStores();
      const random = seeded(seed);
      const nodes = [
        startLedger(stores, withRandomYields(random)),
        startLedger(stores, withRandomYields(random)),
      ] as const;
      await fill(nodes[0]);
      const ids = [await draft(nodes[0]), await draft(nodes[0])];
      const outcomes = await Promise.all(
        ids.flatMap((id) =>
          [0, 1, 0, 1].map((which) =>
            nodes[which === 0 ? 0 : 1].posting.post(TENANT, id, request()).then(
              () => 'posted',
              (error: unknown) => (error instanceof DomainError ? error.code : Promise.reject(error)),
            ),
          ),
        ),
      );
      expect(outcomes.slice(0, 4).sort(), `seed ${seed}`).to.deep.equal([
        'immutable',
        'immutable',
        'immutable',
        'posted',
      ]);
      expect(outcomes.slice(4).sort(), `seed ${seed}`).to.deep.equal([
        'immutable',
        'immutable',
        'immutable',
        'posted',
      ]);
      const posted = await nodes[0].postingsOf();
      expect(
        posted.map(({ data }) => data.number),
        `seed ${seed}`,
      ).to.deep.equal([1, 2]);
    }
  }).timeout(60_000);

  it('and a concurrent change are ordered, so that an answered change is posted', async () => {
    for (let seed = 0; seed < 60; seed += 1) {
      const stores = memoryStores();
      const random = seeded(seed);
      const [one, two] = [
        startLedger(stores, withRandomYields(random)),
        startLedger(stores, withRandomYields(random)),
      ];
      await fill(one);
      const id = await draft(one);
      const [posted, change, discard] = await Promise.allSettled([
        one.posting.post(TENANT, id, request()),
        two.entries.change(TENANT, id, { memo: 'changed' }, request()),
        seed % 3 === 0 ? two.entries.discard(TENANT, id, request()) : Promise.reject(new Error('none')),
      ]);
      const books = await one.postingsOf();
      if (posted.status === 'fulfilled') {
        expect(
          books.map(({ data }) => data.memo),
          `seed ${seed}`,
        ).to.deep.equal([change.status === 'fulfilled' ? 'changed' : '']);
        expect(discard.status).to.equal('rejected');
      } else {
        expect(discard.status, `seed ${seed}`).to.equal('fulfilled');
        expect(books).to.deep.equal([]);
      }
    }
  }).timeout(60_000);

  it('survives a crash at any step without loss, duplicate or skipped number', async () => {
    for (const isDone of [true, false]) {
      for (let after = 1; after <= 3; after += 1) {
        const where = `after append ${after}, ${isDone ? 'done' : 'not done'}`;
        const stores = memoryStores();
        const other = startLedger(stores);
        await fill(other);
        const [id, next] = [await draft(other), await draft(other)];
        const life = crashingAt(after, isDone);
        const dying = startLedger(stores, life.wrap);
        const died = await dying.posting.post(TENANT, id, request({ name: 'the-key' })).then(
          (result) => result,
          () => undefined,
        );
        await other.finishAll();
        const types = eventsOf(await other.readAll(), id);
        const began = types.includes('EntryPostingStarted');
        expect(await other.postingsOf(), where).to.have.length(began ? 1 : 0);
        expect(types.at(-1), where).to.equal(began ? 'EntryPostingSettled' : 'EntryDrafted');
        if (died !== undefined) expect(began, where).to.equal(true);
        // A retry of the same request finds or makes its effect; other requests are too late.
        const again = await other.posting.post(TENANT, id, request({ name: 'the-key' }));
        expect(again.posting.data.number, where).to.equal(1);
        expect(await refusalCode(other.posting.post(TENANT, id, request())), where).to.equal('immutable');
        expect((await other.posting.post(TENANT, next, request())).posting.data.number, where).to.equal(2);
        expect(await other.postingsOf(), where).to.have.length(2);
      }
    }
  }).timeout(60_000);

  it('is completed by the next request', async () => {
    const stores = memoryStores();
    const other = startLedger(stores);
    await fill(other);
    for (const then of ['post', 'change', 'discard', 'reverse'] as const) {
      const id = await draft(other);
      const dying = startLedger(stores, crashingAt(1, true).wrap);
      await dying.posting.post(TENANT, id, request()).catch(() => undefined);
      const before = (await other.postingsOf()).length;
      if (then === 'reverse') {
        await other.posting.reverse(TENANT, id, {}, request());
        expect(await other.postingsOf()).to.have.length(before + 2);
      } else {
        const asked =
          then === 'change'
            ? other.entries.change(TENANT, id, { memo: 'x' }, request())
            : then === 'discard'
              ? other.entries.discard(TENANT, id, request())
              : other.posting.post(TENANT, id, request());
        expect(await refusalCode(asked), then).to.equal('immutable');
        expect(await other.postingsOf(), then).to.have.length(before + 1);
      }
    }
  });

  it('is found in the journal’s events when the journal’s state no longer holds it', async () => {
    const stores = memoryStores();
    const other = startLedger(stores);
    await fill(other);
    const id = await draft(other);
    const dying = startLedger(stores, crashingAt(2, true).wrap);
    await dying.posting.post(TENANT, id, request({ name: 'old' })).catch(() => undefined);
    const waiting = await draft(other);
    const stalled = startLedger(stores, crashingAt(1, true).wrap);
    await stalled.posting.post(TENANT, waiting, request()).catch(() => undefined);
    for (let nth = 0; nth < 300; nth += 1) await other.posting.post(TENANT, await draft(other), request());
    await other.finishAll();
    const numbers = (await other.postingsOf()).map(({ data }) => [data.entry_id, data.number]);
    expect(numbers.filter(([entry]) => entry === id)).to.deep.equal([[id, 1]]);
    expect(numbers.filter(([entry]) => entry === waiting)).to.deep.equal([[waiting, 302]]);
    expect((await other.posting.post(TENANT, id, request({ name: 'old' }))).posting.data.number).to.equal(1);
  }).timeout(60_000);

  it('keeps the journal’s state small with many entries', async () => {
    const node = await filled();
    const sizes: number[] = [];
    for (let nth = 1; nth <= 1200; nth += 1) {
      await node.posting.post(TENANT, await draft(node), request());
      if (nth % 400 === 0) sizes.push(JSON.stringify(await node.journal.load(TENANT)).length);
    }
    expect(Math.max(...sizes) - Math.min(...sizes)).to.be.lessThan(1000);
  }).timeout(60_000);

  it('is refused for an entry too large for one event, and leaves a draft', async () => {
    const node = await filled();
    // A name older than the limit in bytes.
    const name = '\u{1f600}'.repeat(200);
    for (let nth = 0; nth < 1000; nth += 1) {
      await node.chart.openAccount(TENANT, { code: `A${nth}`, name, type: 'Asset', active: true }, request());
    }
    const lines = Array.from({ length: 500 }, (_, nth) => move(`A${nth}`, `A${nth + 500}`, 1)).flat();
    const id = await draft(node, { lines });
    expect(await refusalCode(node.posting.post(TENANT, id, request()))).to.equal('payload_too_large');
    expect(await node.postingsOf()).to.deep.equal([]);
    await node.entries.discard(TENANT, id, request());
  }).timeout(60_000);
});

describe('A draft', () => {
  it('is returned again to a retried keyed request after changes of its accounts', async () => {
    const node = startLedger();
    await fill(node);
    const given = { date: '2026-03-15', lines: move('1000', '4000', 5) };
    const make = () => node.entries.draft(TENANT, given, { kind: 'manual' }, request({ name: 'make' }));
    const { draft: made } = await make();
    const change = () =>
      node.entries.change(TENANT, made.id, { lines: move('1000', '4000', 6) }, request({ name: 'change' }));
    const { draft: changed } = await change();
    await node.chart.changeAccount(TENANT, '4000', { active: false }, request());
    expect((await make()).draft).to.deep.equal(made);
    expect((await change()).draft).to.deep.equal(changed);
  });
});

describe('Reversing', () => {
  it('survives a crash at any step with one mirror entry', async () => {
    for (const isDone of [true, false]) {
      for (let after = 1; after <= 4; after += 1) {
        const where = `after append ${after}, ${isDone ? 'done' : 'not done'}`;
        const stores = memoryStores();
        const other = startLedger(stores);
        await fill(other);
        const id = await draft(other);
        await other.posting.post(TENANT, id, request());
        await other.finishAll();
        const dying = startLedger(stores, crashingAt(after, isDone).wrap);
        await dying.posting
          .reverse(TENANT, id, { memo: 'why' }, request({ name: 'the-key' }))
          .catch(() => undefined);
        await other.finishAll();
        const again = await other.posting.reverse(TENANT, id, { memo: 'why' }, request({ name: 'the-key' }));
        expect(again.posting.data, where).to.include({ number: 2, reversal_of: id, memo: 'why' });
        await other.finishAll();
        expect(eventsOf(await other.readAll(), id).at(-1), where).to.equal('EntryReversalSettled');
        expect(await refusalCode(other.posting.reverse(TENANT, id, {}, request())), where).to.equal(
          'immutable',
        );
        const mirror = again.posting.data.entry_id;
        expect(await refusalCode(other.posting.reverse(TENANT, mirror, {}, request())), where).to.equal(
          'immutable',
        );
        expect(await other.postingsOf(), where).to.have.length(2);
      }
    }
  }).timeout(60_000);

  it('has one winner among callers on two nodes', async () => {
    for (let seed = 0; seed < 40; seed += 1) {
      const stores = memoryStores();
      const random = seeded(seed);
      const nodes = [
        startLedger(stores, withRandomYields(random)),
        startLedger(stores, withRandomYields(random)),
      ] as const;
      await fill(nodes[0]);
      const id = await draft(nodes[0]);
      await nodes[1].posting.post(TENANT, id, request());
      const outcomes = await Promise.all(
        [0, 1, 0, 1].map((which) =>
          nodes[which === 0 ? 0 : 1].posting.reverse(TENANT, id, {}, request()).then(
            () => 'reversed',
            (error: unknown) => (error instanceof DomainError ? error.code : Promise.reject(error)),
          ),
        ),
      );
      expect(outcomes.sort(), `seed ${seed}`).to.deep.equal([
        'immutable',
        'immutable',
        'immutable',
        'reversed',
      ]);
      expect(await nodes[0].postingsOf()).to.have.length(2);
    }
  }).timeout(60_000);
});
