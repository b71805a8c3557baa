import { z } from 'zod';
import type { Client } from '../client.ts';
import type { Fact } from '../log.ts';
import type { Reply } from '../network.ts';
import {
  type Actor,
  type Area,
  BOUND_MS,
  type Choice,
  type Context,
  type Report,
  type Tenant,
  V1,
} from './area.ts';

/** A repeated request is answered without the token, which is shown once. */
const signedIn = z.looseObject({ token: z.string().optional() });
const offered = z.looseObject({ url: z.string().optional() });
const BEFORE = 'the password before';

/** Sessions of people whose password changes, and tokens of extensions that are stopped. */
export class Credentials implements Area {
  readonly name = 'credentials';
  readonly #context: Context;
  readonly #faults: string[] = [];
  #count = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  async prepare(): Promise<void> {}

  actions(tenant: Tenant, actor: Actor): readonly Choice[] {
    const isAdmin = actor === tenant.admin;
    return [
      [isAdmin ? 1 : 0, () => this.#person(tenant, actor)],
      [isAdmin ? 1 : 0, () => this.#extension(actor)],
    ];
  }

  /** A person signs in, and changes the password or gets a new one: earlier sessions end. */
  async #person(tenant: Tenant, { client }: Actor): Promise<void> {
    const { dice, clientWith } = this.#context;
    this.#count += 1;
    const email = `person${this.#count}@${tenant.id}.example`;
    const facts = { email, display_name: 'Somebody', role: 'operator', password: BEFORE };
    const made = await client.write('POST', `${V1}/users`, facts, { what: 'add person' });
    if (made?.status !== 201) return;
    const { id } = z.looseObject({ id: z.string() }).parse(made.body);
    const token = await this.#login(email, BEFORE, tenant, made);
    if (token === undefined) return this.#fault(`${email} cannot sign in`);
    const person = clientWith(token);
    await this.#expect(person, `${V1}/me`, 200, email);
    const after = `the password of ${this.#count}`;
    const both = { current_password: BEFORE, new_password: after };
    const isOwn = dice.chance(0.5);
    const changed = isOwn
      ? await person.write('POST', `${V1}/me/password`, both, { what: 'change password' })
      : await this.#reset(client, id, after);
    if (changed === undefined || changed.status >= 300) return;
    const next = isOwn ? signedIn.parse(changed.body).token : undefined;
    this.#context.later(BOUND_MS, async () => {
      await this.#expect(person, `${V1}/me`, 401, `the former session of ${email}`);
      if (next !== undefined) await this.#expect(clientWith(next), `${V1}/me`, 200, email);
      if ((await this.#login(email, BEFORE, tenant)) !== undefined)
        this.#fault(`${email} signs in with the former password`);
      if ((await this.#login(email, after, tenant)) === undefined)
        this.#fault(`${email} cannot sign in with the new password`);
    });
  }

  /** Sets a password with a one-time link. */
  async #reset(admin: Client, id: string, password: string): Promise<Reply | undefined> {
    const path = `${V1}/users/${id}/password-reset`;
    const made = await admin.write('POST', path, undefined, { what: 'offer reset' });
    const { url } = offered.parse(made?.status === 201 ? made.body : {});
    if (url === undefined) return undefined;
    const body = { link: url.slice(url.indexOf('#') + 1), new_password: password };
    return this.#context.clientWith(undefined).write('POST', '/auth/password-reset', body, { what: 'reset' });
  }

  async #login(
    email: string,
    password: string,
    { id }: Tenant,
    written?: Reply,
  ): Promise<string | undefined> {
    const anyone = this.#context.clientWith(undefined);
    const { status, body } = await anyone.ask('/api/v1/auth/login', { email, password, tenant: id }, written);
    return status === 200 ? signedIn.parse(body).token : undefined;
  }

  /** An extension is loaded and stopped: its token is never accepted again. */
  async #extension({ client }: Actor): Promise<void> {
    const { dice, clientWith } = this.#context;
    this.#count += 1;
    const id = `ext-${this.#count}`;
    const manifest = { ext_id: id, name: id, version: '1.0.0', scopes: ['data:read'] };
    const base = `${V1}/extensions`;
    const act = async (path: string): Promise<boolean> => {
      const reply = await client.write('POST', `${base}/${id}/${path}`, undefined, { what: path });
      return reply !== undefined && reply.status < 300;
    };
    const installed = await client.write('POST', base, manifest, { what: 'install' });
    if (installed?.status !== 201 || !(await act('activate'))) return;
    const minted = await client.write('POST', `${base}/${id}/token`, undefined, { what: 'load' });
    const token = minted?.status === 201 ? signedIn.parse(minted.body).token : undefined;
    if (token === undefined) return;
    const loaded = clientWith(token);
    const path = `${V1}/entities?limit=1`;
    await this.#expect(loaded, path, 200, `the token of ${id}`);
    const isRemoved = dice.chance(0.3);
    const stopped = isRemoved
      ? await client.write('DELETE', `${base}/${id}`, undefined, { what: 'uninstall' })
      : await client.write('POST', `${base}/${id}/deactivate`, undefined, { what: 'deactivate' });
    if (stopped === undefined || stopped.status >= 300) return;
    this.#context.later(BOUND_MS, async () => {
      await this.#expect(loaded, path, 401, `the token of the stopped ${id}`);
      if (isRemoved || !(await act('activate'))) return;
      await this.#expect(loaded, path, 401, `the former token of ${id}, active again`);
    });
  }

  async #expect(client: Client, path: string, status: number, who: string): Promise<void> {
    const reply = await client.get(path);
    if (reply.status !== status && reply.status !== 503)
      this.#fault(`${who} got ${reply.status} instead of ${status} for ${path}`);
  }

  #fault(text: string): void {
    this.#faults.push(text);
  }

  check(log: readonly Fact[], report: Report): void {
    this.#faults.forEach(report);
    for (const { data } of log)
      if (/the password (before|of \d)/.test(data)) report(`the log has a password: ${data.slice(0, 100)}`);
  }
}
