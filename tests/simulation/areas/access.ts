import { z } from 'zod';
import type { Person } from '../client.ts';
import { allDocuments, type Fact, sealedTexts } from '../log.ts';
import {
  type Actor,
  type Area,
  BOUND_MS,
  type Choice,
  type Context,
  PerTenant,
  type Report,
  type Tenant,
  V1,
  withId,
} from './area.ts';

/** A repeated request is answered without the token, which is shown once. */
const minted = z.looseObject({ id: z.string(), token: z.string().optional() });

/** API tokens that are revoked, and people who are deactivated or forgotten. */
export class Access implements Area {
  readonly name = 'access';
  readonly #context: Context;
  readonly #faults: string[] = [];
  readonly #forgotten = new PerTenant<Person>();
  #people = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  async prepare(): Promise<void> {}

  actions(tenant: Tenant, actor: Actor): readonly Choice[] {
    const isAdmin = actor === tenant.admin;
    return [
      [isAdmin ? 1 : 0, () => this.#token(actor)],
      [isAdmin ? 1 : 0, () => this.#guest(tenant, actor)],
    ];
  }

  async #token({ client }: Actor): Promise<void> {
    const { requests, clientWith } = this.#context;
    const body = { name: `token ${requests.length}`, scopes: ['data:read'] };
    const reply = await client.write('POST', `${V1}/api-tokens`, body, {
      what: 'mint',
      event: 'ApiTokenMinted',
    });
    if (reply?.status !== 201) return;
    const { id, token } = minted.parse(reply.body);
    const tool = clientWith(token ?? 'unknown');
    const path = `${V1}/entities/thing/records?limit=1`;
    await this.#expect(tool, path, token === undefined ? 401 : 200, 'a new API token');
    const gone = await client.write('DELETE', `${V1}/api-tokens/${id}`, undefined, { what: 'revoke' });
    if (gone?.status !== 200) return;
    this.#afterBound(tool, path, `the revoked API token ${id}`);
  }

  /** Somebody joins, and is deactivated or forgotten. */
  async #guest(tenant: Tenant, { client }: Actor): Promise<void> {
    const { dice, clientOf } = this.#context;
    this.#people += 1;
    const id = `${tenant.id}-guest${this.#people}`;
    const person: Person = {
      ...{ id, tenantId: tenant.id, email: `guest${this.#people}@${tenant.id}.example` },
      role: 'operator',
    };
    const guest = clientOf(person);
    await this.#expect(guest, `${V1}/me`, 200, id);
    const isForgotten = dice.chance(0.5);
    const path = `${V1}/users/${id}`;
    const reply = isForgotten
      ? await client.write('POST', `${path}/forget`, undefined, { what: 'forget' })
      : await client.write('PATCH', path, { status: 'deactivated' }, { what: 'deactivate' });
    if (reply?.status !== (isForgotten ? 202 : 200)) return;
    if (isForgotten) this.#forgotten.of(tenant).push(person);
    this.#afterBound(guest, `${V1}/me`, id);
  }

  #afterBound(client: Actor['client'], path: string, who: string): void {
    this.#context.later(BOUND_MS, () => this.#expect(client, path, 401, who));
  }

  async #expect(client: Actor['client'], path: string, status: number, who: string): Promise<void> {
    const reply = await client.get(path);
    if (reply.status !== status && reply.status !== 503)
      this.#faults.push(`${who} got ${reply.status} instead of ${status} for ${path}`);
  }

  async check(log: readonly Fact[], report: Report): Promise<void> {
    this.#faults.forEach(report);
    const { world, tenants } = this.#context;
    const places = [
      ...log.map(({ data }) => data),
      ...(await allDocuments(world)),
      ...(await sealedTexts(world)),
    ];
    for (const tenant of tenants) {
      for (const { id, email } of this.#forgotten.of(tenant)) {
        const found = places.find((text) => text.includes(email));
        if (found !== undefined) report(`the e-mail of ${id} is still in ${found.slice(0, 200)}`);
        const reply = await tenant.admin.client.get(`${V1}/users/${id}`);
        const shown = JSON.stringify(reply.body);
        if (shown.includes(email) || withId.parse(reply.body).id !== id)
          report(`the forgotten ${id} is shown as ${shown}`);
      }
    }
  }
}
