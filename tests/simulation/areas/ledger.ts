import { z } from 'zod';
import { eventsOf, type Fact } from '../log.ts';
import {
  type Actor,
  type Area,
  type Choice,
  type Context,
  type Page,
  PerTenant,
  prepared,
  type Report,
  type Tenant,
  twiceIn,
  V1,
  withId,
} from './area.ts';

const ENTRIES = `${V1}/gl/entries`;
const sides = { debit: z.number(), credit: z.number() };
const lines = z.array(z.looseObject({ account_code: z.string(), ...sides }));
const ruled = z.looseObject({
  rule_id: z.string().optional(),
  id: z.string().optional(),
  event_id: z.string().optional(),
});
/** Rules for each record: one posts, one drafts, one always fails since records have no field `day`. */
const RULES = [
  { event: 'EntryPosted', own: { mode: 'post' } },
  { event: 'EntryDrafted', own: { mode: 'draft' } },
  { event: 'PostingRuleFailed', own: { mode: 'post', date: 'values.day' } },
];
/** Days of entries; one of the locks includes the first day. */
const DAYS = ['2026-02-10', '2026-03-02'];
const LOCKS = [null, '2026-01-31', '2026-02-28'];
const dated = z.looseObject({ date: z.string() });
const lock = z.looseObject({ locked_through: z.string().nullable() });
const entryList = z.array(z.looseObject({ id: z.string(), number: z.number().nullish() }));
const trialBalance = z.looseObject({
  accounts: z.array(z.looseObject({ code: z.string(), ...sides })),
  balanced: z.boolean(),
});

/** Journal entries, and posting rules for created records. */
export class Ledger implements Area {
  readonly name = 'ledger';
  readonly #context: Context;
  readonly #drafts = new PerTenant<string>();
  readonly #posted = new PerTenant<string>();
  readonly #reversed = new PerTenant<string>();
  readonly #rules = new PerTenant<{ readonly event: string; readonly id: string }>();

  constructor(context: Context) {
    this.#context = context;
  }

  async prepare({ admin }: Tenant): Promise<void> {
    for (const [code, type] of [
      ['1000', 'Asset'],
      ['4000', 'Revenue'],
      ['6000', 'Expense'],
    ] as const) {
      await prepared(admin.client, `${V1}/gl/accounts`, { code, name: code, type });
    }
    const lines = [
      { account_code: '1000', side: 'debit', amount: { path: 'values.amount' } },
      { account_code: '4000', side: 'credit', amount: { path: 'values.amount' } },
    ];
    const when = 'payload.entity_name == "thing"';
    for (const { event, own } of RULES) {
      const rule = { name: event, source_kind: 'entity.created', when, active: true, lines, ...own };
      const made = await prepared(admin.client, `${V1}/gl/posting-rules`, rule);
      this.#rules.of({ id: admin.tenantId }).push({ event, id: withId.parse(made).id });
    }
  }

  actions(tenant: Tenant, actor: Actor): readonly Choice[] {
    const { client } = actor;
    const { dice } = this.#context;
    const drafts = this.#drafts.of(tenant);
    const posted = this.#posted.of(tenant);
    return [
      [
        5,
        async () => {
          const amount = dice.between(1, 10_000);
          const lines = [
            { account_code: '1000', debit: amount },
            { account_code: '4000', credit: amount },
          ];
          const body = { date: dice.pick(DAYS), memo: 'simulated', lines };
          const reply = await client.write('POST', ENTRIES, body, { what: 'draft', event: 'EntryDrafted' });
          if (reply?.status === 201) drafts.push(withId.parse(reply.body).id);
        },
      ],
      [
        drafts.length === 0 ? 0 : 4,
        async () => {
          const id = dice.pick(drafts);
          const reply = await client.write('POST', `${ENTRIES}/${id}/post`, undefined, { what: 'post' });
          if (reply?.status === 200) posted.push(id);
        },
      ],
      [
        posted.length === 0 ? 0 : 1,
        async () => {
          const id = dice.pick(posted);
          const reply = await client.write('POST', `${ENTRIES}/${id}/reverse`, {}, { what: 'reverse' });
          if (reply !== undefined && reply.status < 300) this.#reversed.of(tenant).push(id);
        },
      ],
      [
        actor === tenant.admin ? 1 : 0,
        async () => {
          const body = { locked_through: dice.pick(LOCKS) };
          await client.write('PUT', `${V1}/gl/lock`, body, { what: 'lock books' });
        },
      ],
    ];
  }

  pages(): readonly Page[] {
    return [
      {
        path: `${V1}/reports/trial-balance?to=2026-12-31`,
        agreesIn: 'ledger',
        wrong: (body) => {
          const { accounts, balanced } = trialBalance.parse(body);
          const sum = accounts.reduce((total, { debit, credit }) => total + debit - credit, 0);
          return balanced && sum === 0 ? undefined : `the books are ${sum} off`;
        },
      },
      {
        path: `${ENTRIES}?limit=50`,
        wrong: (body) => {
          const list = entryList.parse(body);
          const numbers = list.flatMap(({ number }) => number ?? []);
          return new Set(numbers).size === numbers.length ? twiceIn(list) : 'two entries have one number';
        },
      },
    ];
  }

  async check(log: readonly Fact[], report: Report): Promise<void> {
    for (const tenant of this.#context.tenants) {
      const posted = eventsOf(log, tenant, 'EntryPosted', 'EntryReversed');
      posted.forEach(({ facts }, at) => {
        if (facts.number !== at + 1) report(`entry ${at + 1} of ${tenant.id} has the number ${facts.number}`);
      });
      const ids = posted.map(({ facts }) => String(facts.entry_id));
      if (new Set(ids).size !== ids.length) report(`an entry of ${tenant.id} was posted twice`);
      await this.#checkBalances(posted, tenant, report);
      for (const id of this.#posted.of(tenant))
        if (!ids.includes(id)) report(`entry ${id} was said to be posted, and is not`);
      for (const id of this.#reversed.of(tenant))
        if (!posted.some(({ facts }) => facts.reversal_of === id))
          report(`entry ${id} was said to be reversed, and is not`);
      this.#checkRules(log, tenant, report);
      await this.#checkLock(log, tenant, report);
    }
  }

  /** Nothing was posted in a period while it was locked. */
  async #checkLock(log: readonly Fact[], tenant: Tenant, report: Report): Promise<void> {
    let locked: string | null = null;
    for (const { type, facts } of eventsOf(log, tenant, 'BooksLocked', 'EntryPosted', 'EntryReversed')) {
      if (type === 'BooksLocked') locked = lock.parse(facts).locked_through;
      else if (locked !== null && dated.parse(facts).date <= locked)
        report(`entry ${facts.entry_id} was posted while the books were locked through ${locked}`);
    }
    const shown = lock.parse((await tenant.admin.client.get(`${V1}/gl/lock`)).body).locked_through;
    if (shown !== locked)
      report(`the books of ${tenant.id} are locked through ${shown}, by the log ${locked}`);
  }

  /** Each rule has made one entry or failure for each record, and no other entry or failure. */
  #checkRules(log: readonly Fact[], tenant: Tenant, report: Report): void {
    const created = eventsOf(log, tenant, 'RecordCreated')
      .filter(({ facts }) => facts.entity_name === 'thing')
      .map(({ id }) => id)
      .toSorted();
    for (const { event, id } of this.#rules.of(tenant)) {
      const made = eventsOf(log, tenant, event)
        .map(({ facts }) => ruled.parse({ ...facts, ...(typeof facts.source === 'object' && facts.source) }))
        .filter(({ rule_id }) => rule_id === id)
        .map(({ event_id, id: source }) => event_id ?? source ?? '');
      if (made.toSorted().join() !== created.join())
        report(
          `${created.length} records of ${tenant.id} were created, its rule has made ${made.length} ${event}`,
        );
    }
  }

  /** The trial balance is the sum of the lines in the log. */
  async #checkBalances(posted: readonly Fact[], { admin }: Tenant, report: Report): Promise<void> {
    const sums = new Map<string, { debit: number; credit: number }>();
    for (const line of posted.flatMap(({ facts }) => lines.parse(facts.lines))) {
      const sum = sums.get(line.account_code) ?? { debit: 0, credit: 0 };
      sums.set(line.account_code, { debit: sum.debit + line.debit, credit: sum.credit + line.credit });
    }
    const reply = await admin.client.get(`${V1}/reports/trial-balance?to=2026-12-31`);
    const { accounts, balanced } = trialBalance.parse(reply.body);
    if (!balanced) report(`the trial balance of ${admin.tenantId} is not balanced`);
    const shown = new Map(accounts.map(({ code, debit, credit }) => [code, { debit, credit }]));
    for (const code of new Set([...sums.keys(), ...shown.keys()])) {
      const [log, report_] = [sums.get(code), shown.get(code)].map((sum) => sum ?? { debit: 0, credit: 0 });
      if (log?.debit !== report_?.debit || log?.credit !== report_?.credit)
        report(
          `account ${code} of ${admin.tenantId} shows ${JSON.stringify(report_)}, by the log ${JSON.stringify(log)}`,
        );
    }
  }
}
