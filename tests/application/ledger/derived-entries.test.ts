import { expect } from 'chai';
import type { Entries } from '../../../application/ledger/entries.ts';
import { type Content, checkedLines } from '../../../domain/ledger/content.ts';
import { refusalCode } from '../../support/eventually.ts';
import { memoryStores } from '../../support/node.ts';
import { crashingAt } from '../entities/faults.ts';
import { eventsOf, fill, type LedgerNode, move, request, startLedger, TENANT } from './support.ts';

describe('An entry with a derived id', () => {
  /** Drafts or posts an entry, as the rule runner does. */
  const record = (
    { entries, posting }: LedgerNode,
    {
      mode,
      given,
      ...entry
    }: Omit<Parameters<Entries['draftOnce']>[1], 'given'> & {
      readonly mode: 'draft' | 'post';
      readonly given: Content;
    },
  ) =>
    mode === 'draft'
      ? entries.draftOnce(TENANT, { ...entry, given }, request())
      : posting.postOnce(TENANT, { ...entry, content: given }, request());
  const given = {
    date: '2026-03-15',
    memo: '',
    currency: 'EUR',
    lines: checkedLines(move('1000', '4000', 5)),
  };
  const source = { kind: 'job.transition', id: 'event', rule_id: 'rule' };

  it('is recorded once for repeated requests', async () => {
    const node = startLedger();
    await fill(node);
    for (const mode of ['draft', 'post'] as const) {
      const entry = { id: `the-${mode}`, given, source, mode };
      expect(await record(node, entry)).not.to.equal(undefined);
      expect(await record(node, entry)).to.equal(undefined);
    }
    const [posted, ...others] = await node.postingsOf();
    expect(posted?.data).to.deep.include({ entry_id: 'the-post', number: 1, source });
    expect(others).to.deep.equal([]);
  });

  it('leaves nothing when refused, and can be recorded later', async () => {
    const node = startLedger();
    await fill(node);
    await node.chart.lock(TENANT, '2026-12-31', request());
    const entry = { id: 'the-entry', given, source, mode: 'post' as const };
    const before = (await node.readAll()).length;
    expect(await refusalCode(record(node, entry))).to.equal('period_locked');
    expect(await node.readAll()).to.have.length(before);
    await node.chart.lock(TENANT, null, request());
    await record(node, entry);
    expect(await node.postingsOf()).to.have.length(1);
  });

  it('is not checked again once recorded, nor recorded again once discarded', async () => {
    const node = startLedger();
    await fill(node);
    for (const mode of ['draft', 'post'] as const) {
      await record(node, { id: `the-${mode}`, given, source, mode });
    }
    await node.chart.changeAccount(TENANT, '4000', { active: false }, request());
    for (const mode of ['draft', 'post'] as const) {
      const entry = { id: `the-${mode}`, given, source, mode };
      expect(await record(node, entry)).to.equal(undefined);
    }
    await node.entries.discard(TENANT, 'the-draft', request());
    await node.chart.changeAccount(TENANT, '4000', { active: true }, request());
    const again = { id: 'the-draft', given, source, mode: 'draft' as const };
    expect(await record(node, again)).to.equal(undefined);
    expect(await refusalCode(node.entries.change(TENANT, 'the-draft', {}, request()))).to.equal('not_found');
  });

  it('leaves nothing when the journal refuses at the last moment', async () => {
    const stores = memoryStores();
    const other = startLedger(stores);
    await fill(other);
    let locks = 0;
    const node = startLedger(stores, (events) => ({
      ...events,
      append: async (stream, expected, appended) => {
        const result = await events.append(stream, expected, appended);
        if (appended.some(({ type }) => type === 'EntryPostingStarted') && locks++ === 0) {
          await other.chart.lock(TENANT, '2026-12-31', request());
        }
        return result;
      },
    }));
    const entry = { id: 'the-entry', given, source, mode: 'post' as const };
    expect(await refusalCode(record(node, entry))).to.equal('period_locked');
    expect(eventsOf(await node.readAll(), 'the-entry').at(-1)).to.equal('EntryDraftDiscarded');
    expect(await refusalCode(node.posting.post(TENANT, 'the-entry', request()))).to.equal('not_found');
    await other.chart.lock(TENANT, null, request());
    await record(node, entry);
    expect(await node.postingsOf()).to.have.length(1);
  });

  it('is posted once after a crash at any step', async () => {
    for (const isDone of [true, false]) {
      for (let after = 1; after <= 3; after += 1) {
        const stores = memoryStores();
        const other = startLedger(stores);
        await fill(other);
        const entry = { id: 'the-entry', given, source, mode: 'post' as const };
        const dying = startLedger(stores, crashingAt(after, isDone).wrap);
        await record(dying, entry).catch(() => undefined);
        await record(other, entry);
        await other.finishAll();
        expect(await other.postingsOf(), `after ${after}, ${isDone}`).to.have.length(1);
      }
    }
  });
});
