import { Access } from './areas/access.ts';
import { type Actor, type Area, type Context, type Page, prepared, type Tenant, V1 } from './areas/area.ts';
import { Assistant } from './areas/assistant.ts';
import { Billing } from './areas/billing.ts';
import { Credentials } from './areas/credentials.ts';
import { Files } from './areas/files.ts';
import { Ledger } from './areas/ledger.ts';
import { Messaging } from './areas/messaging.ts';
import { Operations } from './areas/operations.ts';
import { Records } from './areas/records.ts';
import { References } from './areas/references.ts';
import { Workflow } from './areas/workflow.ts';
import { Client, type Person, type Request, signed } from './client.ts';
import type { Dice } from './dice.ts';
import type { Hosts } from './hosts.ts';
import { Listener } from './listener.ts';
import type { Reply } from './network.ts';
import { secretOf, type World } from './world.ts';

const DAY = 86_400;
/** Most pages that are opened after one action: people read more than they write. */
const MOST_PAGES = 8;

/** The area that another area needs, by the name of the other area. */
const NEEDED: Readonly<Record<string, string>> = { ledger: 'records', access: 'records' };

/** A run uses some areas, so that these have more to do and each combination is tried. */
const chooseAreas = (dice: Dice): ReadonlySet<string> => {
  const forAll = ['messaging', 'records', 'ledger', 'workflow', 'files', 'references'];
  const others = ['access', 'billing', 'credentials', 'operations', 'assistant'];
  const chosen = [dice.pick(forAll), ...[...forAll, ...others].filter(() => dice.chance(0.35))];
  return new Set(chosen.flatMap((name) => [name, NEEDED[name] ?? name]));
};

/** Users of several tenants who act concurrently. */
export class Workload {
  readonly requests: Request[] = [];
  readonly tenants: Tenant[] = [];
  readonly listeners: Listener[] = [];
  readonly areas: readonly Area[];
  /** Faults found in pages. */
  readonly faults: string[] = [];
  readonly #world: World;
  readonly #dice: Dice;
  readonly #context: Context;
  /** Number of actions that a person takes at a time. */
  readonly #tabs: number;
  /** Actions and pages that are still under way while the person takes the next action. */
  readonly #later: Promise<void>[] = [];
  #left = 0;

  constructor(world: World, dice: Dice, hosts: Hosts) {
    this.#world = world;
    this.#dice = dice;
    this.#context = {
      ...{ world, dice, hosts, requests: this.requests, tenants: this.tenants },
      platform: this.#platform(),
      issuedAt: this.#issuedAt,
      clientOf: (person) => this.#client(this.#tokenOf(person), person.id),
      clientWith: (token) => this.#client(token),
      later: (ms, work) => void this.#later.push(world.time.pause(ms).then(work)),
    };
    const context = this.#context;
    const made: readonly (readonly [name: string, make: () => Area])[] = [
      ['messaging', () => new Messaging(context, this.listeners)],
      ['records', () => new Records(context)],
      ['ledger', () => new Ledger(context)],
      ['workflow', () => new Workflow(context)],
      ['access', () => new Access(context)],
      ['billing', () => new Billing(context)],
      ['files', () => new Files(context)],
      ['references', () => new References(context)],
      ['credentials', () => new Credentials(context)],
      ['operations', () => new Operations(context)],
      ['assistant', () => new Assistant(context)],
    ];
    const chosen = chooseAreas(dice);
    this.areas = made.filter(([name]) => chosen.has(name)).map(([, make]) => make());
    this.#tabs = dice.pick([1, 3, 8]);
  }

  #client(token: string | undefined, by?: string): Client {
    return new Client(this.#world, this.#dice, token, this.requests, by);
  }

  /** One minute before the run, in seconds since 1970. */
  get #issuedAt(): number {
    return Math.floor(this.#world.startedAt / 1_000) - 60;
  }

  #tokenOf({ id, email, tenantId, role }: Person): string {
    const iat = this.#issuedAt;
    return signed({ sub: id, email, tenant_id: tenantId, role, iat, exp: iat + DAY }, secretOf('tenant'));
  }

  async prepare(): Promise<void> {
    const ids = ['t0', ...(this.#dice.chance(0.5) ? ['t1'] : [])];
    this.tenants.push(...(await Promise.all(ids.map((id) => this.#tenant(id)))));
  }

  #platform(): Client {
    const iat = this.#issuedAt;
    const tool = { sub: 'tool', email: 'tool@platform.example', role: 'super_admin' };
    return this.#client(signed({ ...tool, iat, exp: iat + 8 * 3_600 }, secretOf('platform')));
  }

  async #tenant(id: string): Promise<Tenant> {
    const entitlements = { ledger: true, assistant: this.areas.some(({ name }) => name === 'assistant') };
    const facts = { id, name: id, plan: 'business', entitlements, currency: 'EUR' };
    await prepared(this.#context.platform, '/super/tenants', facts);
    const people = ['ann', 'bob', 'cem'].map((name, at): Actor => {
      const person: Person = {
        tenantId: id,
        id: `${id}-${name}`,
        email: `${name}@${id}.example`,
        role: at === 0 ? 'admin' : 'operator',
      };
      const token = this.#tokenOf(person);
      const actor = { ...person, client: this.#client(token, person.id) };
      this.listeners.push(new Listener(this.#world, this.#dice, actor, token));
      return actor;
    });
    await Promise.all(people.map(({ client }) => client.get(`${V1}/me`)));
    const [admin] = people;
    if (admin === undefined) throw new Error('no admin');
    const tenant: Tenant = { id, people, admin };
    await Promise.all(this.areas.map((area) => area.prepare(tenant)));
    const webhook = { url: `https://receiver.example/${id}`, events: ['*'] };
    await prepared(admin.client, `${V1}/webhooks`, webhook);
    return tenant;
  }

  /** In each tab, each person takes one action after another until the number of actions is reached. */
  async run(requests: number): Promise<void> {
    this.#left = requests;
    for (const listener of this.listeners) void listener.run();
    const actors = this.tenants.flatMap((tenant) => tenant.people.map((actor) => ({ tenant, actor })));
    const tabs = actors.flatMap((each) => Array.from({ length: this.#tabs }, () => each));
    await Promise.all(tabs.map(({ tenant, actor }) => this.#act(tenant, actor)));
    while (this.#later.length > 0) await Promise.all(this.#later.splice(0));
  }

  async #act(tenant: Tenant, actor: Actor): Promise<void> {
    while (this.#left > 0) {
      this.#left -= 1;
      await this.#world.time.pause(this.#dice.delay(150, 2_000));
      const act = this.#dice.weighted(this.areas.flatMap((area) => area.actions(tenant, actor)));
      await act();
      // The person takes the next action while the pages load.
      this.#later.push(this.#open(tenant, actor));
    }
  }

  /** Opens a few pages at once, as a browser loads them. */
  async #open(tenant: Tenant, actor: Actor): Promise<void> {
    const dice = this.#dice;
    const pages = this.areas.flatMap((area) => area.pages?.(tenant, actor) ?? []);
    const count = pages.length === 0 ? 0 : dice.between(0, MOST_PAGES);
    const opened = Array.from({ length: count }, async () => {
      const page = dice.pick(pages);
      const { path, client = actor.client, written } = page;
      const began = this.#world.time.now;
      const reply = await client.getAfter(written, path);
      const fault = this.#faultOf(page, reply, began);
      if (fault !== undefined) this.faults.push(`${actor.id} opened ${path}: ${fault}`);
    });
    await Promise.all(opened);
  }

  /** Describes the fault in the answer to a request that began at a time (ms); undefined for none. */
  #faultOf(
    { status: expected = 200, agreesIn, wrong }: Page,
    { status, body }: Reply,
    began: number,
  ): string | undefined {
    if (status !== expected) return `it answers ${status}`;
    const isHalf = agreesIn !== undefined && this.#world.halves.seenSince(agreesIn, began);
    return isHalf ? undefined : wrong?.(body);
  }
}
