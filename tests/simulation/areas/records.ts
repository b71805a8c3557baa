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

const RECORDS = `${V1}/entities/thing/records`;
const PARTS = `${V1}/entities/part/records`;

const record = z.looseObject({ values: z.looseObject({ amount: z.number().optional() }) });
const recordList = z.array(
  z.looseObject({ id: z.string(), values: z.looseObject({ amount: z.number().optional() }) }),
);
const part = z.looseObject({
  record_id: z.string(),
  values: z.looseObject({ thing: z.string().optional() }),
});
const session = z.looseObject({
  status: z.string(),
  preview: z.looseObject({ total_resolved: z.number() }),
  result: z.looseObject({ succeeded: z.number(), skipped: z.number(), errored: z.number() }).optional(),
});

/** Opened by the tenant's admin only. */
const SESSIONS: Page = {
  path: `${V1}/bulk-ops/sessions?limit=20`,
  wrong: (body) => {
    const list = z.array(session).parse(body);
    const isOver = list.some(({ preview, result }) => {
      const rows = (result?.succeeded ?? 0) + (result?.skipped ?? 0) + (result?.errored ?? 0);
      return rows > preview.total_resolved;
    });
    return isOver ? 'a session counts more rows than it has' : undefined;
  },
};

/** Records, parts that refer to them, and bulk sessions over records that other people change meanwhile. */
export class Records implements Area {
  readonly name = 'records';
  readonly #context: Context;
  readonly #records = new PerTenant<string>();
  readonly #sessions = new PerTenant<string>();
  readonly #faults: string[] = [];

  constructor(context: Context) {
    this.#context = context;
  }

  async prepare({ admin }: Tenant): Promise<void> {
    const fields = [
      { key: 'title', label: 'Title', type: 'text', required: false },
      { key: 'amount', label: 'Amount', type: 'integer', required: false },
    ];
    await prepared(admin.client, `${V1}/entities`, { name: 'thing', label: 'Thing', fields });
    const whole = { entity_name: 'thing', on_delete: 'cascade' };
    const reference = { key: 'thing', label: 'Thing', type: 'reference', required: false, reference: whole };
    await prepared(admin.client, `${V1}/entities`, { name: 'part', label: 'Part', fields: [reference] });
  }

  actions(tenant: Tenant, actor: Actor): readonly Choice[] {
    const { dice, requests } = this.#context;
    const records = this.#records.of(tenant);
    const ifAny = (weight: number): number => (records.length === 0 ? 0 : weight);
    return [
      [
        4,
        async () => {
          const values = { title: `title ${requests.length}`, amount: dice.between(1, 100) };
          const created = { what: 'create', event: 'RecordCreated' };
          const reply = await actor.client.write('POST', RECORDS, { values }, created);
          if (reply?.status !== 201) return;
          const { id } = withId.parse(reply.body);
          if (dice.chance(0.5)) {
            // No other person knows the id yet.
            const { status, body } = await actor.client.getAfter(reply, `${RECORDS}/${id}`);
            const amount = status === 200 ? record.parse(body).values.amount : undefined;
            if (status < 500 && amount !== values.amount)
              this.#faults.push(
                `${id} answers ${status} with ${amount} right after its creation with ${values.amount}`,
              );
          }
          records.push(id);
        },
      ],
      [
        ifAny(2),
        async () => {
          const values = { thing: dice.pick(records) };
          await actor.client.write(
            'POST',
            PARTS,
            { values },
            { what: 'create part', event: 'RecordCreated' },
          );
        },
      ],
      [
        ifAny(4),
        async () => {
          const values = { amount: 1_000 + requests.length };
          const updated = { what: 'change', event: 'RecordUpdated' };
          await actor.client.write('PATCH', `${RECORDS}/${dice.pick(records)}`, { values }, updated);
        },
      ],
      [
        ifAny(1),
        async () => {
          const path = `${RECORDS}/${dice.pick(records)}`;
          await actor.client.write('DELETE', path, undefined, { what: 'drop' });
        },
      ],
      [actor === tenant.admin ? ifAny(2) : 0, () => this.#bulk(tenant, actor)],
    ];
  }

  pages(tenant: Tenant, actor: Actor): readonly Page[] {
    const { dice, tenants } = this.#context;
    const least = dice.between(1, 1_200);
    const strangers = tenants.filter((other) => other !== tenant).flatMap((other) => this.#records.of(other));
    const filtered = `filter=${encodeURIComponent(`amount > ${least}`)}&sort=-amount`;
    return [
      { path: `${RECORDS}?limit=50`, wrong: (body) => twiceIn(recordList.parse(body)) },
      {
        path: `${RECORDS}?limit=50&${filtered}`,
        wrong: (body) => {
          const list = recordList.parse(body);
          const amounts = list.map(({ values }) => values.amount ?? Number.NaN);
          if (!amounts.every((amount) => amount > least)) return 'a record does not match the filter';
          const isSorted = amounts.every((amount, at) => at === 0 || amount <= (amounts[at - 1] ?? 0));
          return isSorted ? twiceIn(list) : 'the records are not sorted';
        },
      },
      ...strangers.slice(0, 1).map((id) => ({ path: `${RECORDS}/${id}`, status: 404 })),
      ...(actor === tenant.admin ? [SESSIONS] : []),
    ];
  }

  async #bulk(tenant: Tenant, { client }: Actor): Promise<void> {
    const { dice, requests } = this.#context;
    const ids = Array.from({ length: dice.between(1, 30) }, () => dice.pick(this.#records.of(tenant)));
    const isDeletion = dice.chance(0.1);
    const edit = { kind: 'edit', fields: [{ field_key: 'amount', new_value: requests.length }] };
    const body = {
      entity_name: 'thing',
      operation: isDeletion ? 'delete' : 'edit',
      selection: { kind: 'ids', ids },
      op_params: isDeletion ? { kind: 'delete' } : edit,
    };
    const reply = await client.write('POST', `${V1}/bulk-ops/preview`, body, { what: 'preview' });
    if (reply?.status !== 201) return;
    const { id } = withId.parse(reply.body);
    this.#sessions.of(tenant).push(id);
    const next = dice.chance(0.9) ? 'commit' : 'cancel';
    await client.write('POST', `${V1}/bulk-ops/sessions/${id}/${next}`, undefined, { what: next });
  }

  /** A part is deleted with the thing that it refers to, and only with it. */
  async #checkParts(log: readonly Fact[], tenant: Tenant, report: Report): Promise<void> {
    const deleted = new Set(
      eventsOf(log, tenant, 'RecordDeleted').map(({ facts }) => String(facts.record_id)),
    );
    for (const { facts } of eventsOf(log, tenant, 'RecordCreated')) {
      if (facts.entity_name !== 'part') continue;
      const { record_id: id, values } = part.parse(facts);
      const [isGone, hasWhole] = [deleted.has(id), !deleted.has(values.thing ?? '')];
      if (isGone === hasWhole) report(`part ${id} is ${isGone ? 'deleted' : 'kept'}, its thing not so`);
      const { status } = await tenant.admin.client.get(`${PARTS}/${id}`);
      if (status !== (isGone ? 404 : 200)) report(`part ${id} answers ${status}`);
    }
  }

  /** A committed session accounts for each of its rows; no session is left in a state such as `committing`. */
  async check(log: readonly Fact[], report: Report): Promise<void> {
    this.#faults.forEach(report);
    for (const tenant of this.#context.tenants) {
      await this.#checkParts(log, tenant, report);
      for (const id of this.#sessions.of(tenant)) {
        const reply = await tenant.admin.client.get(`${V1}/bulk-ops/sessions/${id}`);
        const { status, preview, result } = session.parse(reply.body);
        if (!['previewed', 'committed', 'cancelled'].includes(status)) report(`session ${id} is ${status}`);
        if (result === undefined) continue;
        const sum = result.succeeded + result.skipped + result.errored;
        if (sum !== preview.total_resolved)
          report(`session ${id} accounts for ${sum} of ${preview.total_resolved} rows`);
      }
    }
  }
}
