import { z } from 'zod';
import type { Fact } from '../log.ts';
import {
  type Actor,
  type Area,
  type Choice,
  type Context,
  PerTenant,
  prepared,
  type Report,
  type Tenant,
  V1,
  withId,
} from './area.ts';

const RECORDS = `${V1}/entities/thing/records`;

const session = z.looseObject({
  status: z.string(),
  preview: z.looseObject({ total_resolved: z.number() }),
  result: z.looseObject({ succeeded: z.number(), skipped: z.number(), errored: z.number() }).optional(),
});

/** Records of one entity, and bulk sessions over records that others change and delete meanwhile. */
export class Records implements Area {
  readonly name = 'records';
  readonly #context: Context;
  readonly #records = new PerTenant<string>();
  readonly #sessions = new PerTenant<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  async prepare({ admin }: Tenant): Promise<void> {
    const fields = [
      { key: 'title', label: 'Title', type: 'text', required: false },
      { key: 'amount', label: 'Amount', type: 'integer', required: false },
    ];
    await prepared(admin.client, `${V1}/entities`, { name: 'thing', label: 'Thing', fields });
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
          if (reply?.status === 201) records.push(withId.parse(reply.body).id);
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

  /** A committed session accounts for each of its rows; none is left in between. */
  async check(_log: readonly Fact[], report: Report): Promise<void> {
    for (const tenant of this.#context.tenants) {
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
