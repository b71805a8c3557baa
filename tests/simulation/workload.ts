import { z } from 'zod';
import { Client, type Person, type Request, signed } from './client.ts';
import type { Dice } from './dice.ts';
import { Listener } from './listener.ts';
import { secretOf, type World } from './world.ts';

const V1 = '/api/v1/tenant';
const CONVERSATIONS = `${V1}/messaging/conversations`;
const withId = z.looseObject({ id: z.string() });

export interface Actor extends Person {
  readonly client: Client;
}

export interface Tenant {
  readonly id: string;
  readonly people: readonly Actor[];
  readonly conversations: string[];
  /** Messages by id, with their sender and conversation. */
  readonly messages: { readonly id: string; readonly conversation: string; readonly sender: Actor }[];
  readonly records: string[];
  readonly drafts: string[];
  readonly posted: string[];
  readonly sessions: string[];
}

const DAY = 86_400;

export const idOf = (kind: 'message' | 'notification', id: string): string => `${kind} ${id}`;

/** Users of several tenants who do everything at once. */
export class Workload {
  readonly requests: Request[] = [];
  readonly tenants: Tenant[] = [];
  readonly listeners: Listener[] = [];
  readonly #world: World;
  readonly #dice: Dice;
  #left = 0;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  #tokenOf(person: Person): string {
    const iat = Math.floor(this.#world.startedAt / 1_000) - 60;
    const { id, ...claims } = person;
    const token = signed(
      { sub: id, email: claims.email, tenant_id: claims.tenantId, role: claims.role, iat, exp: iat + DAY },
      secretOf('tenant'),
    );
    return token;
  }

  async prepare(): Promise<void> {
    const iat = Math.floor(this.#world.startedAt / 1_000) - 60;
    const claims = {
      sub: 'tool',
      email: 'tool@platform.example',
      role: 'super_admin',
      iat,
      exp: iat + 8 * 3_600,
    };
    const platform = new Client(this.#world, this.#dice, signed(claims, secretOf('platform')), this.requests);
    for (let at = 0; at < 2; at += 1) this.tenants.push(await this.#tenant(platform, `t${at}`));
  }

  async #tenant(platform: Client, id: string): Promise<Tenant> {
    const facts = { id, name: id, plan: 'business', entitlements: { ledger: true }, currency: 'EUR' };
    await this.#expect(platform, 'POST', '/super/tenants', facts);
    const people = ['ann', 'bob', 'cem'].map((name, at): Actor => {
      const person: Person = {
        tenantId: id,
        id: `${id}-${name}`,
        email: `${name}@${id}.example`,
        role: at === 0 ? 'admin' : 'operator',
      };
      const token = this.#tokenOf(person);
      const actor = { ...person, client: new Client(this.#world, this.#dice, token, this.requests) };
      this.listeners.push(new Listener(this.#world, this.#dice, actor, token));
      return actor;
    });
    for (const { client } of people) await client.get(`${V1}/me`);
    const admin = people[0];
    if (admin === undefined) throw new Error('no admin');
    const conversations: string[] = [];
    for (const others of [people.slice(1, 2), people.slice(1)]) {
      const made = await this.#expect(admin.client, 'POST', CONVERSATIONS, {
        participant_user_ids: others.map((one) => one.id),
      });
      conversations.push(withId.parse(made).id);
    }
    const fields = [
      { key: 'title', label: 'Title', type: 'text', required: false },
      { key: 'amount', label: 'Amount', type: 'integer', required: false },
    ];
    await this.#expect(admin.client, 'POST', `${V1}/entities`, { name: 'thing', label: 'Thing', fields });
    for (const [code, type] of [
      ['1000', 'Asset'],
      ['4000', 'Revenue'],
      ['6000', 'Expense'],
    ] as const) {
      await this.#expect(admin.client, 'POST', `${V1}/gl/accounts`, { code, name: code, type });
    }
    await this.#expect(admin.client, 'POST', `${V1}/gl/posting-rules`, {
      name: 'sale',
      source_kind: 'entity.created',
      active: true,
      mode: 'post',
      lines: [
        { account_code: '1000', side: 'debit', amount: { path: 'values.amount' } },
        { account_code: '4000', side: 'credit', amount: { path: 'values.amount' } },
      ],
    });
    await this.#expect(admin.client, 'POST', `${V1}/webhooks`, {
      url: `https://receiver.example/${id}`,
      events: ['*'],
    });
    return {
      id,
      people,
      conversations,
      messages: [],
      records: [],
      drafts: [],
      posted: [],
      sessions: [],
    };
  }

  async #expect(client: Client, method: 'POST', path: string, body: unknown): Promise<unknown> {
    const reply = await client.write(method, path, body, { what: `prepare ${path}` });
    if (reply === undefined || reply.status >= 300)
      throw new Error(`${path}: ${reply?.status} ${JSON.stringify(reply?.body)}`);
    return reply.body;
  }

  /** Each person does one thing after another until all requests are made. */
  async run(requests: number): Promise<void> {
    this.#left = requests;
    for (const listener of this.listeners) void listener.run();
    const actors = this.tenants.flatMap((tenant) => tenant.people.map((actor) => ({ tenant, actor })));
    await Promise.all(actors.map(({ tenant, actor }) => this.#act(tenant, actor)));
  }

  async #act(tenant: Tenant, actor: Actor): Promise<void> {
    while (this.#left > 0) {
      this.#left -= 1;
      await this.#world.time.pause(this.#dice.delay(150, 2_000));
      await this.#one(tenant, actor);
    }
  }

  #one(tenant: Tenant, actor: Actor): Promise<void> {
    const action = this.#dice.weighted([
      [10, () => this.#send(tenant, actor)],
      [2, () => this.#edit(tenant, actor)],
      [2, () => this.#remove(tenant, actor)],
      [4, () => this.#read(tenant, actor)],
      [2, () => this.#mark(actor)],
      [4, () => this.#create(tenant, actor)],
      [4, () => this.#change(tenant, actor)],
      [1, () => this.#drop(tenant, actor)],
      [5, () => this.#draft(tenant, actor)],
      [4, () => this.#post(tenant, actor)],
      [1, () => this.#reverse(tenant, actor)],
      [actor.role === 'admin' ? 2 : 0, () => this.#bulk(tenant, actor)],
    ] as const);
    return action();
  }

  async #send(tenant: Tenant, actor: Actor): Promise<void> {
    // The first conversation is between the first two people.
    const conversation = this.#dice.pick(
      actor === tenant.people[2] ? tenant.conversations.slice(1) : tenant.conversations,
    );
    const mention = this.#dice.chance(0.3) ? ` @[x](user:${this.#dice.pick(tenant.people).id})` : '';
    const body = `text ${this.requests.length}${mention}`;
    const reply = await actor.client.write(
      'POST',
      `${CONVERSATIONS}/${conversation}/messages`,
      { body },
      { what: 'send', event: 'MessageSent' },
    );
    if (reply?.status === 201)
      tenant.messages.push({ id: withId.parse(reply.body).id, conversation, sender: actor });
  }

  async #edit(tenant: Tenant, actor: Actor): Promise<void> {
    const own = tenant.messages.filter(({ sender }) => sender === actor);
    if (own.length === 0) return;
    const { id, conversation } = this.#dice.pick(own);
    await actor.client.write(
      'PATCH',
      `${CONVERSATIONS}/${conversation}/messages/${id}`,
      { body: `edited ${this.requests.length}` },
      { what: 'edit', event: 'MessageEdited' },
    );
  }

  async #remove(tenant: Tenant, actor: Actor): Promise<void> {
    const own = tenant.messages.filter(({ sender }) => sender === actor);
    if (own.length === 0) return;
    const { id, conversation } = this.#dice.pick(own);
    await actor.client.write('DELETE', `${CONVERSATIONS}/${conversation}/messages/${id}`, undefined, {
      what: 'delete',
    });
  }

  async #read(tenant: Tenant, actor: Actor): Promise<void> {
    const conversation = this.#dice.pick(
      actor === tenant.people[2] ? tenant.conversations.slice(1) : tenant.conversations,
    );
    await actor.client.write('POST', `${CONVERSATIONS}/${conversation}/read`, undefined, { what: 'read' });
  }

  async #mark(actor: Actor): Promise<void> {
    await actor.client.write('POST', `${V1}/notifications/mark-read`, { all: true }, { what: 'mark' });
  }

  async #create(tenant: Tenant, actor: Actor): Promise<void> {
    const values = { title: `title ${this.requests.length}`, amount: this.#dice.between(1, 100) };
    const reply = await actor.client.write(
      'POST',
      `${V1}/entities/thing/records`,
      { values },
      { what: 'create', event: 'RecordCreated' },
    );
    if (reply?.status === 201) tenant.records.push(withId.parse(reply.body).id);
  }

  async #change(tenant: Tenant, actor: Actor): Promise<void> {
    if (tenant.records.length === 0) return;
    const id = this.#dice.pick(tenant.records);
    const values = { amount: 1_000 + this.requests.length };
    await actor.client.write(
      'PATCH',
      `${V1}/entities/thing/records/${id}`,
      { values },
      { what: 'change', event: 'RecordUpdated' },
    );
  }

  async #drop(tenant: Tenant, actor: Actor): Promise<void> {
    if (tenant.records.length === 0) return;
    await actor.client.write(
      'DELETE',
      `${V1}/entities/thing/records/${this.#dice.pick(tenant.records)}`,
      undefined,
      { what: 'drop' },
    );
  }

  async #draft(tenant: Tenant, actor: Actor): Promise<void> {
    const amount = this.#dice.between(1, 10_000);
    const lines = [
      { account_code: '1000', debit: amount },
      { account_code: '4000', credit: amount },
    ];
    const reply = await actor.client.write(
      'POST',
      `${V1}/gl/entries`,
      { date: '2026-03-02', memo: 'simulated', lines },
      { what: 'draft', event: 'EntryDrafted' },
    );
    if (reply?.status === 201) tenant.drafts.push(withId.parse(reply.body).id);
  }

  async #post(tenant: Tenant, actor: Actor): Promise<void> {
    if (tenant.drafts.length === 0) return;
    const id = this.#dice.pick(tenant.drafts);
    const reply = await actor.client.write('POST', `${V1}/gl/entries/${id}/post`, undefined, {
      what: 'post',
    });
    if (reply?.status === 200) tenant.posted.push(id);
  }

  async #reverse(tenant: Tenant, actor: Actor): Promise<void> {
    if (tenant.posted.length === 0) return;
    await actor.client.write(
      'POST',
      `${V1}/gl/entries/${this.#dice.pick(tenant.posted)}/reverse`,
      {},
      { what: 'reverse' },
    );
  }

  /** Edits records that others change and delete meanwhile. */
  async #bulk(tenant: Tenant, actor: Actor): Promise<void> {
    if (tenant.records.length === 0) return;
    const ids = Array.from({ length: this.#dice.between(1, 30) }, () => this.#dice.pick(tenant.records));
    const isDeletion = this.#dice.chance(0.1);
    const edit = { kind: 'edit', fields: [{ field_key: 'amount', new_value: this.requests.length }] };
    const body = {
      entity_name: 'thing',
      operation: isDeletion ? 'delete' : 'edit',
      selection: { kind: 'ids', ids },
      op_params: isDeletion ? { kind: 'delete' } : edit,
    };
    const reply = await actor.client.write('POST', `${V1}/bulk-ops/preview`, body, { what: 'preview' });
    if (reply?.status !== 201) return;
    const { id } = withId.parse(reply.body);
    tenant.sessions.push(id);
    const next = this.#dice.chance(0.9) ? 'commit' : 'cancel';
    await actor.client.write('POST', `${V1}/bulk-ops/sessions/${id}/${next}`, undefined, { what: next });
  }
}
