import { expect } from 'chai';
import { entryIdOf } from '../../../application/ledger/rule-runner.ts';
import { entryStream } from '../../../domain/ledger/entry.ts';
import { memoryStores } from '../../support/node.ts';
import { crashingAt, seeded, withRandomYields } from '../entities/faults.ts';
import { createSale, makeRule, type RulesNode, startRules } from './rules-support.ts';
import { eventsOf, fill, move, request, TENANT } from './support.ts';

const together = async ({ poster, log }: RulesNode): Promise<void> => poster.handleAll?.(await log());

const totals = async (node: RulesNode): Promise<number[]> =>
  (await node.postingsOf()).map(({ data }) => data.total);

/** A draft under the id of the rule’s entry for the first record, as an earlier process may have left it. */
const withDraft = async (node: RulesNode, rule: string): Promise<string> => {
  const event = (await node.log()).find(({ type }) => type === 'RecordCreated');
  if (event === undefined) throw new Error('nothing happened');
  const id = entryIdOf({ rule: { id: rule }, event });
  const given = { date: '2026-03-15', lines: move('1200', '4000', 5) };
  const source = { kind: 'entity.created', id: event.id, rule_id: rule };
  await node.entries.draftOnce(TENANT, { id, given, source }, request());
  return id;
};
const failureOf = async (node: RulesNode): Promise<string> => {
  const [failed] = await node.failures();
  if (failed === undefined) throw new Error('nothing failed');
  return failed.data.failure_id;
};

describe('A posting rule whose entry the journal refuses', () => {
  it('has a failure and no entry after a crash at any step', async () => {
    for (const isDone of [true, false]) {
      for (let after = 1; after <= 5; after += 1) {
        const where = `append ${after}, ${isDone ? 'done' : 'not done'}`;
        const stores = memoryStores();
        const other = startRules(stores);
        await fill(other);
        await makeRule(other);
        await createSale(other, 'a', 5);
        const life = crashingAt(after, isDone);
        const dying = startRules(stores, (events) => {
          const crashing = life.wrap(events);
          return {
            ...crashing,
            append: async (stream, expected, appended) => {
              const result = await crashing.append(stream, expected, appended);
              if (appended.some(({ type }) => type === 'EntryPostingStarted')) {
                await other.chart.lock(TENANT, '2100-01-01', request());
              }
              return result;
            },
          };
        });
        await together(dying).catch(() => undefined);
        await other.chart.lock(TENANT, '2100-01-01', request());
        await other.finishAll();
        await together(other);
        expect(await totals(other), where).to.deep.equal([]);
        const types = async () => (await other.failures()).map(({ type }) => type);
        expect(await types(), where).to.deep.equal(['PostingRuleFailed']);
        const [failed] = await other.failures();
        const { failure_id: id = '' } = failed?.data ?? {};
        expect((await other.rules.retry(TENANT, id, request())).failure.attempts, where).to.equal(2);
        await other.chart.lock(TENANT, null, request());
        const { failure } = await other.rules.retry(TENANT, id, request());
        expect(failure.resolvedAt, where).to.be.a('number');
        expect(await totals(other), where).to.deep.equal([5]);
      }
    }
  }).timeout(60_000);

  it('discards an old draft, and resolves its failure only when the entry is posted', async () => {
    for (let seed = 0; seed < 10; seed += 1) {
      const stores = memoryStores();
      const random = seeded(seed);
      const [one, two] = [
        startRules(stores, withRandomYields(random)),
        startRules(stores, withRandomYields(random)),
      ];
      await fill(one);
      const rule = await makeRule(one);
      await createSale(one, 'a', 5);
      const entry = await withDraft(one, rule);
      await one.chart.lock(TENANT, '2100-01-01', request());
      await together(one);
      expect(eventsOf(await one.readAll(), entry)).to.deep.equal(['EntryDrafted', 'EntryDraftDiscarded']);
      const id = await failureOf(one);
      const retries = (count: number) =>
        Promise.all(
          Array.from({ length: count }, (_, nth) => [one, two][nth % 2]?.rules.retry(TENANT, id, request())),
        );
      for (const retried of await retries(6)) expect(retried?.failure).not.to.have.property('resolvedAt');
      await one.chart.lock(TENANT, null, request());
      for (const retried of await retries(6)) expect(retried?.failure.resolvedAt).to.be.a('number');
      expect(await totals(one), `seed ${seed}`).to.deep.equal([5]);
    }
  }).timeout(30_000);

  for (const isLocked of [true, false]) {
    it(`keeps the entry of a retry with a changed rule when the event repeats (${isLocked ? 'locked' : 'open'} period)`, async () => {
      const stores = memoryStores();
      const node = startRules(stores);
      await fill(node);
      const rule = await makeRule(node);
      const other = await makeRule(node);
      await node.chart.lock(TENANT, '2100-01-01', request());
      await createSale(node, 'a', 5);
      await together(node);
      const failed = await node.failures();
      await node.rules.change(TENANT, rule, { mode: 'draft' }, request());
      await node.rules.change(TENANT, other, { when: 'payload.values.total > 5' }, request());
      for (const { data } of failed) {
        const { failure } = await node.rules.retry(TENANT, data.failure_id, request());
        expect(failure.resolvedAt).to.be.a('number');
      }
      if (!isLocked) await node.chart.lock(TENANT, null, request());
      const before = await node.readAll();
      // The subscriber of a killed process continues from its checkpoint.
      await together(startRules(stores));
      expect((await node.readAll()).slice(before.length)).to.deep.equal([]);
    });
  }

  for (const mode of ['post', 'draft'] as const) {
    it(`makes a discarded entry again when its failure is retried (${mode})`, async () => {
      const node = startRules(memoryStores());
      await fill(node);
      const rule = await makeRule(node, { mode });
      await node.chart.changeAccount(TENANT, '4000', { active: false }, request());
      await createSale(node, 'a', 5);
      await together(node);
      const id = await failureOf(node);
      await node.chart.changeAccount(TENANT, '4000', { active: true }, request());
      const entry = await withDraft(node, rule);
      await node.entries.discard(TENANT, entry, request());
      await node.chart.changeAccount(TENANT, '4000', { active: false }, request());
      const refused = await node.rules.retry(TENANT, id, request());
      expect(refused.failure).to.include({ attempts: 2 }).and.not.to.have.property('resolvedAt');
      await node.chart.changeAccount(TENANT, '4000', { active: true }, request());
      expect((await node.rules.retry(TENANT, id, request())).failure.resolvedAt).to.be.a('number');
      const { status } = (await node.streams.of(entryStream, TENANT, entry).refresh()).state;
      expect(status).to.equal(mode === 'post' ? 'posted' : 'draft');
    });
  }
});
