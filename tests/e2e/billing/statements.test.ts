import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import {
  give,
  linesOf,
  partnerWith,
  putCard,
  RECONCILIATION,
  reconciliation,
  STATEMENTS,
  statementsOf,
  usage,
  usageOf,
} from '../../support/billing.ts';
import { impersonate } from '../../support/impersonate.ts';
import { newPartner, PROFILE } from '../../support/partners.ts';
import { eventually } from '../../support/server.ts';
import { validationFailed } from '../../support/shapes.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, say, sharedWorld, talk, type World } from '../../support/world.ts';
import { publicPath, published, send } from '../forms/support.ts';
import { OPEN, ofStatus, subscribe, test as testHook } from '../webhooks/support.ts';
import { defineEntity, JOBS, move, readJob, startJob } from '../workflow/support.ts';
import { GENERATE, invoice } from './invoice-support.ts';

const NEVER = '?from=2001-01-01&to=2001-02-01';
const FOREVER = '&from=2020-01-01&to=2100-01-01';

/** Decisions, section 10: Meters, Statements and Reconciliation. */
describe('Partner statements', () => {
  let world: World;

  before(async () => {
    world = await sharedWorld(OPEN);
  });
  after(async () => {
    await closeReceivers();
    await endWorld();
  });

  it('count usage, each event by one meter, and list the events', async () => {
    const { partner, tenants } = await partnerWith(world, 1);
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error('no tenant');
    await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'enterprise' });
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url, { events: ['job.transition'] });
    await testHook(tenant.admin, hook.id);
    await defineEntity(tenant, 'expense');
    const job = await startJob(ada, 'expense');
    await startJob(ada, 'expense');
    await move(ada, job, 'submit');
    await tenant.admin.api.post(`${JOBS}/${job}/override`, { to_state: 'paid', reason: 'because' });
    expect((await readJob(ada, job)).state).to.equal('paid');
    const form = await published(tenant, [{ key: 'name', type: 'text' }]);
    const sent = await send(world.anybody, publicPath(tenant, form), { name: 'Zoe' }, 'one');
    expect(sent.status).to.equal(201);
    const again = await send(world.anybody, publicPath(tenant, form), { name: 'Zoe' }, 'one');
    expect(again.status).to.be.oneOf([200, 201]);
    const room = await talk(ada, ben);
    await say(ada, room, 'one');
    await say(ben, room, 'two');
    await ofStatus(tenant.admin, hook.id, 'delivered', 2);
    await impersonate(world, tenant.id, { user_id: ben.id });

    const counts = await eventually('every count', async () => {
      const lines = await linesOf(partner, tenant.id);
      const found = Object.fromEntries([...lines].map(([meter, { quantity }]) => [meter, quantity]));
      return found.webhooks_delivered === 1 ? found : undefined;
    });
    expect(counts).to.deep.equal({
      active_users: 3,
      jobs_started: 2,
      job_transitions: 2,
      records_created: 3,
      forms_submitted: 1,
      messages_sent: 2,
      webhooks_delivered: 1,
    });
    for (const [meter, quantity] of Object.entries(counts)) {
      const events = await usageOf(partner, tenant.id, meter, '&limit=1');
      expect(new Set(events.map(({ event_id }) => event_id)).size, meter).to.equal(quantity);
      expect(events.map(({ position }) => position)).to.deep.equal(
        events.map(({ position }) => position).sort(),
      );
      for (const { stream } of events) expect(stream.startsWith(`${tenant.id}.`)).to.equal(true);
    }
    const people = await usageOf(partner, tenant.id, 'active_users');
    expect(people.map(({ actor }) => actor.id)).to.have.members([tenant.admin.id, ada.id, ben.id]);
    const types = async (meter: string) => (await usageOf(partner, tenant.id, meter)).map(({ type }) => type);
    expect(await types('job_transitions')).to.deep.equal(['JobTransitioned', 'JobOverridden']);
    expect(await types('jobs_started')).to.deep.equal(['RecordCreated', 'RecordCreated']);
  });

  it('exclude impersonators', async () => {
    const { partner, tenants } = await partnerWith(world, 1);
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error('no tenant');
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const room = await talk(ada, ben);
    const asBen = await impersonate(world, tenant.id, { user_id: ben.id });
    await say({ ...ben, api: asBen.api }, room, 'not me');
    const lines = await linesOf(partner, tenant.id);
    expect(lines.get('messages_sent')?.quantity).to.equal(1);
    const people = await usageOf(partner, tenant.id, 'active_users');
    expect(people.map(({ actor }) => actor.id)).to.have.members([tenant.admin.id, ada.id]);
    expect(lines.get('active_users')?.quantity).to.equal(2);
    const [message] = await usageOf(partner, tenant.id, 'messages_sent');
    expect(message?.actor).to.deep.equal({ kind: 'user', id: ben.id });
  });

  it('use the present card and the profile’s texts, and list every customer', async () => {
    const { partner, tenants } = await partnerWith(world, 2);
    const [tenant, quiet] = tenants;
    if (tenant === undefined || quiet === undefined) throw new Error('no tenant');
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const room = await talk(ada, ben);
    for (const text of ['a', 'b', 'c', 'd', 'e']) await say(ada, room, text);
    const names = { [tenant.id]: '=SUM(A1) {{meter}} “Zoë” 🙂' };
    await world.platform.patch(`/super/tenants/${tenant.id}`, { name: names[tenant.id] });
    await partner.api.request('PUT', PROFILE, {
      item_name_template: '{{customer}}: {{quantity}} {{ meter }}',
      item_description: '{{partner}}\n{{period}}',
    });
    const before = await linesOf(partner, tenant.id);
    expect(before.get('messages_sent')).to.deep.include({
      quantity: 5,
      unrated: true,
      wholesale: 0,
      retail: 0,
      wholesale_rate: null,
      retail_rate: null,
    });
    await putCard(partner, { messages_sent: { wholesale: '1.5', retail: '2.5', included: 2 } });
    const found = await statementsOf(partner);
    expect(found.map(({ customer }) => customer.id)).to.deep.equal([tenant.id, quiet.id]);
    const [first, second] = found;
    const now = new Date();
    const month = (ahead: number) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead)).toISOString();
    expect(first?.window).to.deep.equal({ from: month(0), to: month(1), open: true });
    expect(first).to.deep.include({ currency: 'EUR', rate_card_version: 1 });
    const last = new Date(Date.parse(month(1)) - 1).toISOString().slice(0, 10);
    // 4.5 and 7.5, each rounded to the even neighbour.
    expect(first?.lines.find(({ meter }) => meter === 'messages_sent')).to.deep.equal({
      meter: 'messages_sent',
      quantity: 5,
      included: 2,
      billable: 3,
      wholesale_rate: '1.5',
      retail_rate: '2.5',
      wholesale: 4,
      retail: 8,
      item_name: '=SUM(A1) {{meter}} “Zoë” 🙂: 5 messages_sent',
      item_description: `Partner ${partner.id}\n${month(0).slice(0, 10)}..${last}`,
    });
    expect(first?.totals).to.deep.equal({ wholesale: 4, retail: 8, margin: 4, margin_pct: 50 });
    const idle = second?.lines.map(({ meter }) => meter);
    expect(idle).to.not.include('messages_sent');
    expect(second?.totals).to.deep.equal({ wholesale: 0, retail: 0, margin: 0, margin_pct: null });

    const csv = await partner.api.get(`${STATEMENTS}.csv`);
    expect(csv.header('content-type')).to.equal('text/csv; charset=utf-8');
    expect(csv.text).to.contain(`${tenant.id},'=SUM(A1) {{meter}} “Zoë” 🙂,`);
    expect(csv.text).to.contain(",messages_sent,5,2,3,1.5,2.5,4,8,'=SUM(A1)");
  });

  it('agree with reconciliation, also for losses', async () => {
    const { partner, tenants } = await partnerWith(world, 2);
    for (const tenant of tenants) {
      const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
      const room = await talk(ada, ben);
      await say(ada, room, 'a');
    }
    await putCard(partner, {
      messages_sent: { wholesale: '30', retail: '20' },
      active_users: { wholesale: '0', retail: '100' },
    });
    const read = async (scope: string) =>
      (await partner.api.get(`${RECONCILIATION}${scope}`)).as(reconciliation);
    const byMeter = await read('?scope=meter');
    expect(byMeter.buckets).to.deep.equal([
      {
        scope: { kind: 'meter', id: 'active_users', name: 'active_users' },
        wholesale: 0,
        retail: 400,
        margin: 400,
        margin_pct: 100,
        invoiced: { wholesale: 0, retail: 0 },
        unbilled: { wholesale: 0, retail: 400 },
      },
      {
        scope: { kind: 'meter', id: 'messages_sent', name: 'messages_sent' },
        wholesale: 60,
        retail: 40,
        margin: -20,
        margin_pct: -50,
        invoiced: { wholesale: 0, retail: 0 },
        unbilled: { wholesale: 60, retail: 40 },
      },
    ]);
    const byCustomer = await read('');
    expect(byCustomer.scope).to.equal('customer');
    expect(byCustomer.buckets.map(({ scope, retail }) => [scope.id, retail])).to.deep.equal(
      tenants.map(({ id }) => [id, 220]),
    );
    expect(byCustomer.totals).to.deep.equal(byMeter.totals);
    expect(byMeter.totals).to.deep.include({ wholesale: 60, retail: 440, margin: 380, margin_pct: 86.36 });
    const csv = await partner.api.get(`${RECONCILIATION}.csv?scope=meter`);
    expect(csv.text).to.contain('meter,messages_sent,messages_sent,60,40,-20,-50,0,0,60,40\r\n');
    expect(csv.text).to.contain('meter,,Total,60,440,380,86.36,0,0,60,440\r\n');
    expect((await partner.api.get(`${RECONCILIATION}?scope=site`)).status).to.equal(400);
  });

  it('cover the requested window', async () => {
    const { partner, tenants } = await partnerWith(world, 1);
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error('no tenant');
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const room = await talk(ada, ben);
    for (const text of ['a', 'b', 'c']) await say(ada, room, text);
    const [one, two, three] = await usageOf(partner, tenant.id, 'messages_sent');
    if (one === undefined || two === undefined || three === undefined) throw new Error('no messages');
    const count = async (from: string, to: string) => {
      const query = `?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`;
      const quantity = (await linesOf(partner, tenant.id, query)).get('messages_sent')?.quantity ?? 0;
      const events = await usageOf(partner, tenant.id, 'messages_sent', query.replace('?', '&'));
      expect(events).to.have.length(quantity);
      return quantity;
    };
    expect(await count('2020-01-01', '2100-01-01')).to.equal(3);
    expect(await count('2020-01-01', one.at)).to.equal(0);
    expect(await count(three.at, '2100-01-01')).to.be.at.least(1);
    const justAfter = (at: string) => new Date(Date.parse(at) + 1).toISOString();
    expect(await count(one.at, justAfter(three.at))).to.equal(3);
    expect(await count(one.at.replace('Z', '+00:00'), justAfter(three.at))).to.equal(3);
    const [empty] = await statementsOf(partner, NEVER);
    expect(empty).to.deep.include({ lines: [] });
    expect(empty?.window).to.deep.equal({
      from: '2001-01-01T00:00:00.000Z',
      to: '2001-02-01T00:00:00.000Z',
      open: false,
    });
    for (const query of [
      '?from=2026-02-01&to=2026-02-01',
      '?from=2026-02-02&to=2026-02-01',
      '?from=2027-02-29&to=2027-03-05',
      '?from=2026-13-01',
      '?from=now',
      '?to=2001-01-01',
      '?from=9999-12-31T23:59:59-01:00&to=9999-12-31T23:59:59Z',
    ]) {
      for (const path of [STATEMENTS, `${STATEMENTS}.csv`, RECONCILIATION, `${RECONCILIATION}.csv`]) {
        const answer = await partner.api.get(`${path}${query}`);
        expect(answer.status, `${path}${query}`).to.equal(400);
        validationFailed.parse(answer.json);
      }
    }
  });

  it('are the same 404 for another partner’s customer and a malformed id', async () => {
    const { partner: north, tenants } = await partnerWith(world, 1);
    const { partner: south } = await partnerWith(world, 1);
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error('no tenant');
    const mine = await statementsOf(south);
    expect(mine.map(({ customer }) => customer.id)).to.not.include(tenant.id);
    await tenant.person('Ada');
    const bodies = new Set<string>();
    const free = await world.tenant();
    for (const id of [
      tenant.id,
      free.id,
      randomUUID(),
      't_nobody',
      'partner_x',
      'platform',
      '%00',
      '%2e%2e',
      `${tenant.id}.`,
    ]) {
      for (const meter of ['messages_sent', 'active_users']) {
        const answer = await south.api.get(`${STATEMENTS}/${id}/usage?meter=${meter}${FOREVER}`);
        expect(answer.status, id).to.equal(404);
        bodies.add(answer.text);
      }
    }
    expect(bodies.size).to.equal(1);
    expect((await north.api.get(`${STATEMENTS}/${tenant.id}/usage`)).status).to.equal(400);
    expect((await north.api.get(`${STATEMENTS}/${tenant.id}/usage?meter=x`)).status).to.equal(400);
    const bad = await north.api.get(`${STATEMENTS}/${tenant.id}/usage?meter=active_users&cursor=x`);
    expect(bad.status).to.equal(400);
    const page = await north.api.get(`${STATEMENTS}/${tenant.id}/usage?meter=active_users&limit=1`);
    expect(page.as(usage)).to.have.length(1);
  });

  it('cover each partner’s own time when a customer is handed over and back', async () => {
    const { partner: north, tenants } = await partnerWith(world, 1);
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error('no tenant');
    const south = await newPartner(world);
    for (const partner of [north, south]) {
      await putCard(partner, { messages_sent: { wholesale: '1', retail: '10' } });
    }
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const room = await talk(ada, ben);
    const of = async (partner: typeof north) => {
      const { totals } = (await partner.api.get(RECONCILIATION)).as(reconciliation);
      const line = (await linesOf(partner, tenant.id)).get('messages_sent');
      const events = await usageOf(partner, tenant.id, 'messages_sent', FOREVER);
      expect(totals.retail).to.equal((line?.quantity ?? 0) * 10);
      expect(events).to.have.length(line?.quantity ?? 0);
      return events.map(({ event_id }) => event_id);
    };
    const unknown = await south.api.get(`${STATEMENTS}/t_nobody/usage?meter=messages_sent${FOREVER}`);
    const notYet = await south.api.get(`${STATEMENTS}/${tenant.id}/usage?meter=messages_sent${FOREVER}`);
    expect([notYet.status, notYet.text]).to.deep.equal([404, unknown.text]);
    await say(ada, room, 'one');
    await say(ben, room, 'two');
    const first = await of(north);
    expect(first).to.have.length(2);
    await give(world, tenant.id, south.id);
    expect(await of(south)).to.deep.equal([]);
    await say(ada, room, 'three');
    expect(await of(north)).to.deep.equal(first);
    const second = await of(south);
    expect(second).to.have.length(1);
    await give(world, tenant.id, null);
    await say(ada, room, 'nobody’s');
    await give(world, tenant.id, north.id);
    await say(ben, room, 'four');
    expect((await of(north)).slice(0, 2)).to.deep.equal(first);
    expect(await of(north)).to.have.length(3);
    expect(await of(south)).to.deep.equal(second);
    expect((await statementsOf(south, NEVER)).map(({ customer }) => customer.id)).to.deep.equal([]);
    const people = await usageOf(south, tenant.id, 'active_users', FOREVER);
    expect(people.map(({ actor }) => actor.id)).to.deep.equal([ada.id]);
    // An invoice that the former partner generates later covers only that partner's time.
    const generated = await south.api.post(GENERATE, { customer_id: tenant.id });
    expect(generated.as(invoice, 201).totals.retail).to.equal(10);
  });

  it('are exact at the highest price', async () => {
    const { partner, tenants } = await partnerWith(world, 1);
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error('no tenant');
    await tenant.person('Ada');
    await putCard(partner, { active_users: { wholesale: '999999999.999999', retail: '999999999.999999' } });
    const lines = await linesOf(partner, tenant.id);
    expect(lines.get('active_users')?.retail).to.equal(1_000_000_000);
  });

  it('survive a rebuild of the counts', async () => {
    const { partner, tenants } = await partnerWith(world, 1);
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error('no tenant');
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const room = await talk(ada, ben);
    for (const text of ['a', 'b', 'c']) await say(ada, room, text);
    const before = await statementsOf(partner);
    const rebuilt = await world.platform.post('/super/projections/metering/rebuild');
    expect(rebuilt.status).to.equal(202);
    await eventually(
      'the rebuild',
      async () => {
        const { text } = await world.platform.get('/super/projections');
        return /"name":"metering","generation":"v2\.1","state":"active"/.test(text);
      },
      20_000,
    );
    expect(await statementsOf(partner)).to.deep.equal(before);
  }).timeout(40_000);
});
