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

const recordsOf = (entity: string): string => `${V1}/entities/${entity}/records`;
const record = z.looseObject({ values: z.looseObject({ team: z.string().nullish() }) });
const created = z.looseObject({
  entity_name: z.string(),
  record_id: z.string(),
  values: z.looseObject({ team: z.string().nullish() }),
});

/** Records that refer to teams: a member prevents its team's deletion; a deletion clears the references of badges. */
export class References implements Area {
  readonly name = 'references';
  readonly #context: Context;
  readonly #teams = new PerTenant<string>();
  readonly #members = new PerTenant<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  async prepare({ admin: { client } }: Tenant): Promise<void> {
    const title = { key: 'title', label: 'Title', type: 'text', required: false };
    await prepared(client, `${V1}/entities`, { name: 'team', label: 'Team', fields: [title] });
    for (const [name, on_delete] of [
      ['member', 'restrict'],
      ['badge', 'clear'],
    ] as const) {
      const reference = { entity_name: 'team', on_delete };
      const fields = [{ key: 'team', label: 'Team', type: 'reference', required: false, reference }];
      await prepared(client, `${V1}/entities`, { name, label: name, fields });
    }
  }

  actions(tenant: Tenant, { client }: Actor): readonly Choice[] {
    const { dice, requests } = this.#context;
    const [teams, members] = [this.#teams.of(tenant), this.#members.of(tenant)];
    const refer = (entity: string) => async (): Promise<void> => {
      const body = { values: { team: dice.pick(teams) } };
      const made = { what: `create ${entity}`, event: 'RecordCreated' };
      const reply = await client.write('POST', recordsOf(entity), body, made);
      if (reply?.status === 201 && entity === 'member') members.push(withId.parse(reply.body).id);
    };
    return [
      [
        teams.length < 4 ? 3 : 1,
        async () => {
          const body = { values: { title: `team ${requests.length}` } };
          const made = { what: 'create team', event: 'RecordCreated' };
          const reply = await client.write('POST', recordsOf('team'), body, made);
          if (reply?.status === 201) teams.push(withId.parse(reply.body).id);
        },
      ],
      [teams.length > 0 ? 2 : 0, refer('member')],
      [teams.length > 0 ? 3 : 0, refer('badge')],
      [
        teams.length > 0 ? 2 : 0,
        async () => {
          const path = `${recordsOf('team')}/${dice.pick(teams)}`;
          await client.write('DELETE', path, undefined, { what: 'delete team' });
        },
      ],
      [
        members.length > 0 ? 2 : 0,
        async () => {
          const path = `${recordsOf('member')}/${dice.pick(members)}`;
          await client.write('DELETE', path, undefined, { what: 'delete member' });
        },
      ],
    ];
  }

  pages(): readonly Page[] {
    const entities = ['team', 'member', 'badge'];
    const wrong = (body: unknown): string | undefined => twiceIn(z.array(withId).parse(body));
    return entities.map((entity) => ({ path: `${recordsOf(entity)}?limit=50`, wrong }));
  }

  /** No record refers to a deleted team: its badges are cleared, and it had no members. */
  async check(log: readonly Fact[], report: Report): Promise<void> {
    for (const tenant of this.#context.tenants) {
      const deleted = new Set(
        eventsOf(log, tenant, 'RecordDeleted').map(({ facts }) => String(facts.record_id)),
      );
      for (const { facts } of eventsOf(log, tenant, 'RecordCreated')) {
        const { entity_name: entity, record_id: id, values } = created.parse(facts);
        if ((entity !== 'member' && entity !== 'badge') || deleted.has(id)) continue;
        const { status, body } = await tenant.admin.client.get(`${recordsOf(entity)}/${id}`);
        if (status !== 200) report(`${entity} ${id} answers ${status}`);
        if (status !== 200 || values.team == null) continue;
        const shown = record.parse(body).values.team ?? undefined;
        const isGone = deleted.has(values.team);
        if (isGone && entity === 'member') report(`team ${values.team} is deleted, its member ${id} is not`);
        if (shown !== (isGone ? undefined : values.team))
          report(`${entity} ${id} of the ${isGone ? 'deleted' : 'kept'} team ${values.team} shows ${shown}`);
      }
    }
  }
}
