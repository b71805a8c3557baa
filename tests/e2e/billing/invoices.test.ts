import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { newPartner, PROFILE, type TestPartner } from '../../support/partners.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  GENERATE,
  generate,
  INVOICES,
  invoice,
  invoices,
  locked,
  MESSAGES,
  monthAhead,
  newCustomer,
  priceMessages,
  read,
  send,
} from './invoice-support.ts';

/** Decisions, section 10, Invoice. */
describe('Invoices of a partner', () => {
  let world: World;
  let north: TestPartner;
  let south: TestPartner;

  before(async () => {
    world = await sharedWorld();
    north = await newPartner(world);
    south = await newPartner(world);
    await priceMessages(north);
  });
  after(endWorld);

  const customer = async (messages: number): Promise<TestTenant> => {
    const made = await newCustomer(world, north);
    await send(made, messages);
    return made;
  };

  it('cover the present calendar month unless a window is given', async () => {
    const acme = await customer(3);
    const made = await generate(north, acme);
    expect(made.window).to.deep.equal({ from: monthAhead(0), to: monthAhead(1) });
    expect(made).to.deep.include({
      number: `${acme.id}-1`,
      customer: { id: acme.id, name: 'A tenant of the tests' },
      state: 'generated',
      revision: 1,
      currency: 'EUR',
      rate_card_version: 1,
      totals: { wholesale: 150, retail: 240, margin: 90, margin_pct: 37.5 },
    });
    const billed = made.lines.filter(({ meter }) => meter === 'messages_sent');
    expect(billed).to.have.length(1);
    expect(billed[0]).to.deep.include({ quantity: 3, included: 0, billable: 3, wholesale: 150, retail: 240 });
    expect(billed[0]?.item_name).to.match(/^messages_sent \d{4}-\d\d-01\.\.\d{4}-\d\d-\d\d$/);
    expect(await read(north, made)).to.deep.equal(made);
  });

  it('are generated once per window, also by concurrent requests and with other spellings of the window', async () => {
    const acme = await customer(1);
    const day = monthAhead(0).slice(0, 10);
    const ways = [
      { from: day, to: monthAhead(1) },
      { from: `${day}T02:00:00+02:00`, to: monthAhead(1).slice(0, 10) },
      {},
    ];
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, i) => north.api.post(GENERATE, { customer_id: acme.id, ...ways[i % 3] })),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).to.deep.equal([...Array<number>(8).fill(200), 201]);
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
  });

  it('repeat their answer for an Idempotency-Key', async () => {
    const acme = await customer(1);
    const headers = { 'idempotency-key': randomUUID() };
    const first = await north.api.post(GENERATE, { customer_id: acme.id }, { headers });
    const again = await north.api.post(GENERATE, { customer_id: acme.id }, { headers });
    expect([first.status, again.status, again.header('idempotency-replayed')]).to.deep.equal([
      201,
      201,
      'true',
    ]);
    expect(again.text).to.equal(first.text);
  });

  it('have windows that do not overlap', async () => {
    const acme = await customer(1);
    const made = await generate(north, acme);
    const refused = await north.api.post(GENERATE, {
      customer_id: acme.id,
      from: monthAhead(0),
      to: monthAhead(2),
    });
    expect([refused.status, refused.error]).to.deep.equal([409, 'window_overlap']);
    expect(refused.json).to.deep.include({ details: { invoice_id: made.id, window: made.window } });
    const ahead = await north.api.post(GENERATE, {
      customer_id: acme.id,
      from: monthAhead(1),
      to: monthAhead(2),
    });
    expect([ahead.status, ahead.error]).to.deep.equal([422, 'nothing_to_invoice']);
  });

  it('need billable usage with a price', async () => {
    const idle = await newCustomer(world, north);
    const refused = await north.api.post(GENERATE, { customer_id: idle.id });
    expect([refused.status, refused.error]).to.deep.equal([422, 'nothing_to_invoice']);
    const free = await newPartner(world);
    const user = await newCustomer(world, free);
    await send(user, 2);
    expect((await free.api.post(GENERATE, { customer_id: user.id })).error).to.equal('nothing_to_invoice');
    await priceMessages(free, { ...MESSAGES, included: 2 });
    expect((await free.api.post(GENERATE, { customer_id: user.id })).error).to.equal('nothing_to_invoice');
    await priceMessages(free, { ...MESSAGES, included: 1 });
    expect((await generate(free, user)).totals.retail).to.equal(80);
  });

  it('refuse an invalid window before an unknown customer', async () => {
    const acme = await customer(1);
    const bad = [
      {},
      { customer_id: '' },
      { customer_id: 7 },
      { customer_id: acme.id, from: 'yesterday' },
      { customer_id: acme.id, from: '2026-02-30' },
      { customer_id: acme.id, from: '2026-11-02', to: '2026-11-01' },
      { customer_id: acme.id, from: '2026-11-02', to: '2026-11-02' },
      { customer_id: acme.id, partner_id: north.id },
      { customer_id: acme.id, partner_id: south.id },
      { customer_id: randomUUID(), from: '2026-11-02', to: '2026-11-01' },
    ];
    for (const body of bad) {
      const refused = await north.api.post(GENERATE, body);
      expect([refused.status, refused.error], JSON.stringify(body)).to.deep.equal([400, 'validation_failed']);
    }
  });

  it('get 404 with the same bytes for unknown and malformed ids and for those of another partner', async () => {
    const acme = await customer(1);
    const made = await generate(north, acme);
    const theirs = await newCustomer(world, south);
    const nobodys = await world.tenant();
    const answers = [
      ...(await Promise.all(
        [theirs.id, nobodys.id, 'nobody', randomUUID(), '../x'].map((customer_id) =>
          north.api.post(GENERATE, { customer_id }),
        ),
      )),
      ...(await Promise.all(
        [made.id, randomUUID(), 'x', made.id.toUpperCase()].flatMap((id) => [
          south.api.get(`${INVOICES}/${id}`),
          south.api.get(`${INVOICES}/${id}/page`),
          south.api.patch(`${INVOICES}/${id}`, {}),
          south.api.post(`${INVOICES}/${id}/issue`),
          south.api.post(`${INVOICES}/${id}/void`),
        ]),
      )),
    ];
    for (const answer of answers) expect([answer.status, answer.error]).to.deep.equal([404, 'not_found']);
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    expect((await south.api.get(INVOICES)).json).to.deep.equal([]);
    expect((await south.api.get(`${INVOICES}?customer_id=${acme.id}`)).json).to.deep.equal([]);
    expect((await read(north, made)).state).to.equal('generated');
  });

  it('stay with their partner after a hand-over', async () => {
    const acme = await customer(1);
    const made = await generate(north, acme);
    await world.platform.patch(`/super/tenants/${acme.id}`, { partner_id: south.id });
    expect(await read(north, made)).to.deep.equal(made);
    const again = await north.api.post(GENERATE, { customer_id: acme.id });
    expect([again.status, again.as(invoice)]).to.deep.equal([200, made]);
    const ofSouth = await south.api.post(GENERATE, { customer_id: acme.id });
    expect([ofSouth.status, ofSouth.error]).to.deep.equal([422, 'nothing_to_invoice']);
    (await north.api.post(`${INVOICES}/${made.id}/issue`)).as(invoice);
  });

  it('do not change when the rate card, profile or names change, or by PATCH', async () => {
    const partner = await newPartner(world);
    await priceMessages(partner);
    const acme = await newCustomer(world, partner);
    await send(acme, 2);
    const made = await generate(partner, acme);
    const path = `${INVOICES}/${made.id}`;
    const before = await partner.api.get(path);
    const page = await partner.api.get(`${path}/page`);

    await priceMessages(partner, { wholesale: '1', retail: '2', included: 1 });
    const profile = { item_name_template: 'Other', item_description: 'Other' };
    await partner.api.request('PUT', PROFILE, profile);
    await world.platform.patch(`/super/tenants/${acme.id}`, { name: 'Renamed' });
    await world.platform.patch(`/super/partners/${partner.id}`, { name: 'Renamed' });
    await send(acme, 1);
    for (const body of [{}, { lines: [] }, { state: 'issued' }, { customer: null }]) {
      const refused = await partner.api.patch(path, body);
      expect(refused.as(locked, 409).details.state).to.equal('generated');
    }
    expect((await partner.api.get(path)).text).to.equal(before.text);
    expect((await partner.api.get(`${path}/page`)).text).to.equal(page.text);

    const issued = (await partner.api.post(`${path}/issue`)).as(invoice);
    expect(issued).to.deep.equal({
      ...made,
      state: 'issued',
      issued_at: issued.issued_at,
      upstream_ref: `recorded-partner-invoice-${made.id}-1`,
    });
    expect((await partner.api.patch(path, {})).as(locked, 409).details.state).to.equal('issued');
  });

  it('free their window when voided, so that the next revision can be generated', async () => {
    const acme = await customer(2);
    const first = await generate(north, acme);
    const path = `${INVOICES}/${first.id}`;
    const gone = (await north.api.post(`${path}/void`)).as(invoice);
    expect(gone).to.deep.equal({ ...first, state: 'void', voided_at: gone.voided_at });
    for (const answer of [
      await north.api.post(`${path}/void`),
      await north.api.post(`${path}/issue`),
      await north.api.patch(path, {}),
    ]) {
      expect(answer.as(locked, 409).details.state).to.equal('void');
    }
    await send(acme, 1);
    const second = await generate(north, acme);
    expect(second).to.deep.include({ revision: 2, number: `${acme.id}-2` });
    expect(second.totals.retail).to.equal(240);
    expect((await read(north, first)).totals.retail).to.equal(160);
  });

  it('cannot be voided when issued, and are issued once', async () => {
    const acme = await customer(1);
    const made = await generate(north, acme);
    const issued = await north.api.post(`${INVOICES}/${made.id}/issue`);
    expect(issued.status).to.equal(200);
    const again = await north.api.post(`${INVOICES}/${made.id}/issue`);
    expect([again.status, again.text]).to.deep.equal([200, issued.text]);
    const refused = await north.api.post(`${INVOICES}/${made.id}/void`);
    expect(refused.as(locked, 409).details.state).to.equal('issued');
  });

  it('are listed newest first, by customer and state, in pages', async () => {
    const partner = await newPartner(world);
    await priceMessages(partner);
    const made = [];
    for (let i = 0; i < 3; i += 1) {
      const tenant = await newCustomer(world, partner);
      await send(tenant, 1);
      made.unshift(await generate(partner, tenant));
    }
    const [third, second, first] = made;
    await partner.api.post(`${INVOICES}/${second?.id}/void`);
    const list = async (query: string) =>
      (await partner.api.get(`${INVOICES}${query}`)).as(invoices).map(({ id }) => id);
    expect(await list('')).to.deep.equal(made.map(({ id }) => id));
    expect(await list('?state=generated')).to.deep.equal([third?.id, first?.id]);
    expect(await list('?state=void')).to.deep.equal([second?.id]);
    expect(await list(`?customer_id=${first?.customer.id}`)).to.deep.equal([first?.id]);
    expect(await list(`?customer_id=${first?.customer.id}&state=void`)).to.deep.equal([]);
    const seen: string[] = [];
    for (let next: string | undefined = `${INVOICES}?limit=2`; next !== undefined; ) {
      const page = await partner.api.get(next);
      seen.push(...page.as(invoices).map(({ id }) => id));
      next = /^<([^>]+)>/.exec(page.header('link') ?? '')?.[1];
    }
    expect(seen).to.deep.equal(made.map(({ id }) => id));
    for (const query of ['?state=paid', '?limit=x', '?cursor=x', '?customer_id=a&customer_id=b']) {
      expect((await partner.api.get(`${INVOICES}${query}`)).status, query).to.equal(400);
    }
  });

  it('are printable pages, with names as text and without scripts', async () => {
    const partner = await newPartner(world);
    await priceMessages(partner);
    const evil = '<script>alert(1)</script>&"';
    const profile = { item_name_template: '{{customer}} </td><b>{{meter}}', item_description: evil };
    (await partner.api.request('PUT', PROFILE, profile)).header('etag');
    const acme = await newCustomer(world, partner);
    await world.platform.patch(`/super/tenants/${acme.id}`, { name: evil });
    await world.platform.patch(`/super/partners/${partner.id}`, { name: evil });
    await send(acme, 2);
    const made = await generate(partner, acme);
    const page = await partner.api.get(`${INVOICES}/${made.id}/page`);
    expect(page.header('content-type')).to.equal('text/html; charset=utf-8');
    expect(page.header('content-security-policy')).to.match(/^default-src 'none'; style-src 'sha256-/);
    expect(page.text).to.include('&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;');
    expect(page.text).not.to.match(/<script|<b>/);
    expect(page.text).to.include('1.60 EUR');
    expect((await read(partner, made)).customer.name).to.equal(evil);
  });
});
