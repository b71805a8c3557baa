import { expect } from 'chai';
import { linesOf, partnerWith, usageOf } from '../../support/billing.ts';
import { eventually } from '../../support/server.ts';
import { BASE, endWorld, say, sharedWorld, type TestTenant, talk, type World } from '../../support/world.ts';
import { committed, DELETE, edit, preview, transition } from '../bulk/support.ts';
import { create, define, pointing, remove } from '../entities/support.ts';
import { publicPath, published, send } from '../forms/support.ts';
import { defineEntity, startJob } from '../workflow/support.ts';

/** Decisions, section 10, Meters: requests with several events, or with none that counts. */
describe('Metering', () => {
  let world: World;
  before(async () => {
    world = await sharedWorld();
  });
  after(endWorld);

  const customer = async () => {
    const { partner, tenants } = await partnerWith(world, 1);
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error('no tenant');
    return { partner, tenant };
  };
  const { counts, events } = {
    counts: async ({ partner, tenant }: Customer): Promise<Record<string, number>> =>
      Object.fromEntries(
        [...(await linesOf(partner, tenant.id))].map(([meter, { quantity }]) => [meter, quantity]),
      ),
    events: async ({ partner, tenant }: Customer, meter: string): Promise<string[]> =>
      (await usageOf(partner, tenant.id, meter, '&limit=2')).map(({ event_id }) => event_id),
  };
  type Customer = Awaited<ReturnType<typeof customer>>;

  /** Expects these counts, and as many listed events without duplicates. */
  const expectCounts = async (of: Customer, wanted: Readonly<Record<string, number>>): Promise<void> => {
    expect(await counts(of)).to.deep.equal(wanted);
    for (const [meter, quantity] of Object.entries(wanted)) {
      const ids = await events(of, meter);
      expect([ids.length, new Set(ids).size], meter).to.deep.equal([quantity, quantity]);
    }
  };
  const bulk = async (
    tenant: TestTenant,
    entity: string,
    operation: Parameters<typeof preview>[2],
    ids: readonly string[],
  ): Promise<void> => {
    const { id } = await preview(tenant.admin, entity, operation, ids);
    expect((await committed(tenant.admin, id)).result?.succeeded).to.equal(ids.length);
  };

  it('counts each row of a bulk transition once, and no edited or deleted row', async () => {
    const of = await customer();
    const { tenant } = of;
    await defineEntity(tenant, 'expense');
    const jobs = [];
    for (let nth = 0; nth < 5; nth += 1) jobs.push(await startJob(tenant.admin, 'expense'));
    const before = { active_users: 1, jobs_started: 5, records_created: 5 };
    await expectCounts(of, before);
    await bulk(tenant, 'expense', edit({ amount: 7 }), jobs);
    await expectCounts(of, before);
    await bulk(tenant, 'expense', transition('submit'), jobs);
    await expectCounts(of, { ...before, job_transitions: 5 });
    await bulk(tenant, 'expense', DELETE, jobs);
    await expectCounts(of, { ...before, job_transitions: 5 });
  });

  it('counts nothing for the cascade of a deleted record', async () => {
    const of = await customer();
    const { admin } = of.tenant;
    const order = await define(admin, { key: 'title', type: 'text' });
    const line = await define(admin, pointing('order', order, 'cascade'));
    const made = await create(admin, order, { title: 'a' });
    for (let nth = 0; nth < 3; nth += 1) await create(admin, line, { order: made.id });
    expect((await remove(admin, made)).status).to.equal(204);
    await expectCounts(of, { active_users: 1, records_created: 4 });
  });

  it('counts a submission and its record, but no active user', async () => {
    const of = await customer();
    const { tenant } = of;
    const form = await published(tenant, [{ key: 'name', type: 'text' }]);
    for (let nth = 0; nth < 3; nth += 1) {
      const sent = await send(world.anybody, publicPath(tenant, form), { name: 'Zoe' }, `s-${nth}`);
      expect(sent.status).to.equal(201);
    }
    const refused = await send(world.anybody, publicPath(tenant, form), { name: 7 });
    expect(refused.status).to.be.oneOf([400, 422]);
    await expectCounts(of, { active_users: 1, records_created: 3, forms_submitted: 3 });
  });

  it('counts a message once, also when it is edited, deleted or repeated with its key', async () => {
    const of = await customer();
    const { tenant } = of;
    const ada = await tenant.person('Ada');
    const room = await talk(ada, tenant.admin);
    const { id } = await say(ada, room, 'one');
    const options = { headers: { 'idempotency-key': 'the-key' } };
    for (let round = 0; round < 2; round += 1) {
      const answer = await ada.api.post(`${BASE}/${room}/messages`, { body: 'two' }, options);
      expect(answer.status).to.equal(201);
    }
    expect((await ada.api.delete(`${BASE}/${room}/messages/${id}`)).status).to.equal(200);
    await expectCounts(of, { active_users: 2, messages_sent: 2 });
  });

  it('includes the latest usage, with its position', async () => {
    const of = await customer();
    const { partner, tenant } = of;
    const ada = await tenant.person('Ada');
    const room = await talk(ada, tenant.admin);
    for (let sent = 1; sent <= 10; sent += 1) {
      const answer = await ada.api.post(`${BASE}/${room}/messages`, { body: 'x' });
      const headers = { 'x-min-position': answer.header('x-event-position') ?? '' };
      const path = `/api/v1/partner-portal/billing/statements`;
      const read = await partner.api.get(path, { headers });
      expect(read.text).to.match(new RegExp(`"messages_sent","quantity":${sent},`));
    }
    for (const path of [
      'statements',
      'reconciliation',
      `statements/${tenant.id}/usage?meter=messages_sent`,
    ]) {
      const answer = await partner.api.get(`/api/v1/partner-portal/billing/${path}`, {
        headers: { 'x-min-position': 'x' },
      });
      expect(answer.status, path).to.equal(400);
    }
  });

  it('refuses a cursor of another meter, customer or list', async () => {
    const of = await customer();
    const { partner, tenant } = of;
    const ada = await tenant.person('Ada');
    const room = await talk(ada, tenant.admin);
    for (let nth = 0; nth < 3; nth += 1) await say(ada, room, 'x');
    const second = await customer();
    await world.platform.patch(`/super/tenants/${second.tenant.id}`, { partner_id: partner.id });
    const base = (id: string) => `/api/v1/partner-portal/billing/statements/${id}/usage?limit=1&meter=`;
    const cursor = await eventually('a second page', async () => {
      const page = await partner.api.get(`${base(tenant.id)}messages_sent`);
      return /[?&](cursor=[^&>]+)/.exec(page.header('link') ?? '')?.[1];
    });
    expect((await partner.api.get(`${base(tenant.id)}messages_sent&${cursor}`)).status).to.equal(200);
    for (const path of [
      `${base(tenant.id)}active_users&${cursor}`,
      `${base(second.tenant.id)}messages_sent&${cursor}`,
      `/api/v1/partner-portal/billing/invoices?${cursor}`,
    ]) {
      expect((await partner.api.get(path)).status, path).to.equal(400);
    }
  });
});
