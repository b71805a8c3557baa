import { expect } from 'chai';
import { type EventStore, StoreUnavailable } from '../../../application/ports/event-store.ts';
import type { InvoiceIssued } from '../../../domain/billing/invoice.ts';
import type { EventOf } from '../../../domain/core/event.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import type { StreamType } from '../../../domain/core/stream-type.ts';
import { createPartner, partnerStream } from '../../../domain/partners/partner.ts';
import { causeOf } from '../../support/book.ts';
import { memoryStores } from '../../support/node.ts';
import { createSale, entitle, makeRule, type RulesNode, startRules } from './rules-support.ts';
import { fill, request, TENANT } from './support.ts';

type Look = (node: RulesNode) => Promise<void>;

/** Delivers events as the runner does: several in one call, or one by one. */
const together: Look = async ({ poster, log }) => poster.handleAll?.(await log());
const oneByOne: Look = async ({ poster, log }) => {
  for (const event of await log()) await poster.handle(event);
};
const inPieces: Look = async ({ poster, log }) => {
  const events = await log();
  for (let from = 0; from < events.length; from += 3) await poster.handleAll?.(events.slice(from, from + 3));
};

const totals = async (node: RulesNode): Promise<number[]> =>
  (await node.postingsOf()).map(({ data }) => data.total);

describe('The subscriber of posting rules', () => {
  for (const [name, look] of Object.entries({ together, oneByOne, inPieces })) {
    describe(`given events ${name}`, () => {
      it('applies the rules that were active at the event, at any later time', async () => {
        const node = startRules(memoryStores());
        await fill(node);
        await createSale(node, 'before', 1);
        const id = await makeRule(node);
        await createSale(node, 'a', 2);
        await node.rules.change(TENANT, id, { active: false }, request());
        await createSale(node, 'b', 3);
        await node.rules.change(TENANT, id, { active: true, when: 'payload.values.total > 4' }, request());
        await createSale(node, 'c', 4);
        await createSale(node, 'd', 5);
        await entitle(node, false);
        await createSale(node, 'e', 6);
        await entitle(node, true);
        await createSale(node, 'f', 7);
        await makeRule(node, { name: 'late', mode: 'draft' });
        await look(node);
        expect(await totals(node)).to.deep.equal([2, 5, 7]);
        // Delivers the events again to the same process, and to one with empty caches.
        for (const again of [node, startRules({ events: node.events })]) {
          again.poster.begin?.();
          await look(again);
          expect(await totals(again)).to.deep.equal([2, 5, 7]);
        }
        expect(await node.failures()).to.deep.equal([]);
      });
    });
  }

  it('skips only events that certainly have no active rule, and does not decode them', async () => {
    const node = startRules(memoryStores());
    await fill(node);
    const { poster } = node;
    const told = async (): Promise<readonly (boolean | undefined)[]> =>
      (await node.events.readAll({ filter: { types: poster.types } })).map((each) => poster.skips?.(each));
    const before = (await told()).length;
    await createSale(node, 'a', 1);
    expect(await told(), 'it has not looked yet').to.deep.equal(Array(before + 1).fill(false));
    await together(node);
    expect((await told()).slice(before)).to.deep.equal([true]);
    const id = await makeRule(node);
    await createSale(node, 'b', 2);
    expect((await told()).slice(before), 'the rule itself').to.deep.equal([true, false, true]);
    await together(node);
    expect((await told()).slice(before), 'now one is active').to.deep.equal([false, false, false]);
    expect(await totals(node)).to.deep.equal([2]);
    await node.rules.change(TENANT, id, { active: false }, request());
    await together(node);
    expect((await told()).slice(before)).to.deep.equal([true, false, true, false]);
    poster.begin?.();
    expect(await told()).to.not.include(true);
  });

  it('posts in log order, however long each application of a rule takes', async () => {
    const slow = (events: EventStore): EventStore => ({
      ...events,
      append: async (stream, expected, appended) => {
        for (let tick = 0; tick < (appended[0]?.id.charCodeAt(35) ?? 0) % 7; tick += 1) {
          await new Promise((resolve) => setImmediate(resolve));
        }
        return events.append(stream, expected, appended);
      },
    });
    const node = startRules(memoryStores(), slow);
    await fill(node);
    await makeRule(node);
    const wanted = Array.from({ length: 300 }, (_, nth) => nth + 1);
    for (const nth of wanted) await createSale(node, `r${nth}`, nth);
    await together(node);
    expect(await totals(node)).to.deep.equal(wanted);
  }).timeout(30_000);

  it('continues after a failing rule', async () => {
    const node = startRules(memoryStores());
    await fill(node);
    const failing = await makeRule(node, { date: 'values.day' });
    await makeRule(node);
    await createSale(node, 'a', 1);
    await createSale(node, 'b', 2);
    await together(node);
    await oneByOne(node);
    expect(await totals(node)).to.deep.equal([1, 2]);
    const failures = await node.failures();
    expect(failures.map(({ type, data }) => [type, data.rule_id])).to.deep.equal([
      ['PostingRuleFailed', failing],
      ['PostingRuleFailed', failing],
    ]);
  });

  it('resolves a failure when the repeated event succeeds', async () => {
    const node = startRules(memoryStores());
    await fill(node);
    await makeRule(node);
    await node.chart.lock(TENANT, '2100-01-01', request());
    await createSale(node, 'a', 1);
    await oneByOne(node);
    await node.chart.lock(TENANT, null, request());
    await oneByOne(node);
    expect((await node.failures()).map(({ type }) => type)).to.deep.equal([
      'PostingRuleFailed',
      'PostingFailureResolved',
    ]);
    expect(await totals(node)).to.deep.equal([1]);
  });

  it('makes each entry and each failure once after a crash at any step', async () => {
    for (const isDone of [true, false]) {
      for (let after = 1; after <= 10; after += 1) {
        const where = `append ${after}, ${isDone ? 'done' : 'not done'}`;
        const stores = memoryStores();
        const other = startRules(stores);
        await fill(other);
        await makeRule(other);
        await makeRule(other, { name: 'draft', mode: 'draft' });
        await makeRule(other, { name: 'fails', date: 'values.day' });
        for (const id of ['a', 'b', 'c']) await createSale(other, id, 5);
        let appends = 0;
        const dying = startRules(stores, (events) => ({
          ...events,
          append: async (stream, expected, appended) => {
            appends += 1;
            if (appends > after || (appends === after && !isDone)) throw new StoreUnavailable('dead');
            const result = await events.append(stream, expected, appended);
            if (appends === after) throw new StoreUnavailable('dead');
            return result;
          },
        }));
        await together(dying).catch(() => undefined);
        await (after % 2 === 0 ? together : oneByOne)(other);
        await other.finishAll();
        expect(await totals(other), where).to.deep.equal([5, 5, 5]);
        const all = await other.readAll();
        expect(
          all.filter(({ type }) => type === 'EntryDrafted'),
          where,
        ).to.have.length(6);
        expect(
          (await other.failures()).map(({ type }) => type),
          where,
        ).to.deep.equal(Array.from({ length: 3 }, () => 'PostingRuleFailed'));
      }
    }
  }).timeout(60_000);

  it('has no duplicate effect when two processes run it concurrently', async () => {
    const stores = memoryStores();
    const [one, two] = [startRules(stores), startRules(stores)];
    await fill(one);
    await makeRule(one);
    await makeRule(one, { name: 'fails', date: 'values.day' });
    for (let nth = 0; nth < 40; nth += 1) await createSale(one, `r${nth}`, nth + 1);
    await Promise.all([together(one), together(two), inPieces(startRules(stores))]);
    await one.finishAll();
    expect((await totals(one)).sort((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 40 }, (_, nth) => nth + 1),
    );
    expect(await one.failures()).to.have.length(40);
  }).timeout(30_000);

  it('does not apply later rules to repeated events after an error', async () => {
    const node = startRules(memoryStores());
    await fill(node);
    await createSale(node, 'a', 1);
    await makeRule(node);
    await createSale(node, 'b', 2);
    const events = await node.log();
    const broken = events.map((event) => (event === events.at(-1) ? { ...event, data: null } : event));
    await node.poster.handleAll?.(broken).then(
      () => expect.fail('it did not fail'),
      () => undefined,
    );
    await oneByOne(node);
    expect(await totals(node)).to.deep.equal([2]);
  });

  it('reads one stream at most per tenant without rules, also when events are delivered again', async () => {
    let reads = 0;
    const stores = memoryStores();
    const node = startRules(stores, (events) => ({
      ...events,
      readStream: (...args) => {
        reads += 1;
        return events.readStream(...args);
      },
    }));
    await fill(node);
    for (let nth = 0; nth < 50; nth += 1) await createSale(node, `r${nth}`, 1, `tenant_${nth % 5}`);
    const log = await node.log();
    reads = 0;
    await node.poster.handleAll?.(log);
    expect(reads).to.be.at.most(5);
    await node.poster.handleAll?.(log);
    expect(reads).to.be.at.most(5);
  });
});

describe('Issued invoices of partners', () => {
  type Issued = EventOf<typeof InvoiceIssued>;
  const invoices: StreamType<object, Issued> = {
    category: 'invoices',
    stateVersion: 1,
    initial: {},
    evolve: (state) => state,
  };
  const issue = async ({ commands }: RulesNode, partnerId: string, currency: string): Promise<void> => {
    await commands.execute({
      tenantId: `partner_${partnerId}`,
      type: invoices,
      id: 'customer_one',
      cause: causeOf('issue'),
      decide: (): readonly Issued[] => [
        {
          type: 'InvoiceIssued',
          data: {
            invoice_id: 'i-1',
            number: '7',
            partner: { id: partnerId, name: partnerId },
            customer: { id: 'customer_one', name: 'One' },
            window: { from: '2026-10-01T00:00:00.000Z', to: '2026-11-01T00:00:00.000Z' },
            revision: 1,
            currency,
            totals: { wholesale: 700, retail: 1000, margin: 300, margin_pct: 30 },
            rate_card_version: 1,
            lines: [],
            upstream_ref: 'up-1',
            issued_at: '2026-11-02T10:00:00.000Z',
          },
        },
      ],
    });
  };
  const RULE = {
    name: 'Partner',
    source_kind: 'partner_invoice.issued',
    when: 'payload.customer.name == "One" && payload.totals.margin > 0 && !has(payload.lines)',
    date: 'issued_at',
    lines: [
      { account_code: '1200', side: 'debit', amount: { path: 'totals.retail' } },
      { account_code: '4000', side: 'credit', amount: { path: 'totals.retail' } },
      { account_code: '5000', side: 'debit', amount: { path: 'totals.wholesale' } },
      { account_code: '2100', side: 'credit', amount: { path: 'totals.wholesale' } },
    ],
  } as const;

  it('become entries of the partner’s own tenant in the invoice’s currency', async () => {
    const node = startRules(memoryStores());
    await fill(node);
    for (const [partnerId, home_tenant_id] of [
      ['north', TENANT],
      ['homeless', null],
    ] as const) {
      await node.commands.execute({
        tenantId: PLATFORM,
        type: partnerStream,
        id: partnerId,
        cause: causeOf('partner'),
        decide: (state) => createPartner(state, { partnerId, name: 'P', home_tenant_id }),
      });
    }
    const rule = await makeRule(node, { ...RULE, lines: [...RULE.lines] });
    for (const each of ['north', 'homeless', 'nobody']) await issue(node, each, 'USD');
    await together(node);
    const [entry, ...more] = await node.postingsOf();
    expect(more).to.deep.equal([]);
    expect(entry?.data).to.deep.include({ date: '2026-11-02', currency: 'USD', total: 1700 });
    expect(entry?.data.source).to.include({ kind: 'partner_invoice.issued', rule_id: rule });
    expect(entry?.stream).to.equal(`${TENANT}.journal-main`);
    expect(await node.failures()).to.deep.equal([]);
  });
});
