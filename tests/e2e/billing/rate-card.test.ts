import { expect } from 'chai';
import { partnerWith, putCard, RATE_CARD, rateCard } from '../../support/billing.ts';
import { newPartner, type TestPartner } from '../../support/partners.ts';
import { validationFailed } from '../../support/shapes.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';

const RATES = {
  active_users: { wholesale: '100', retail: '150', included: 3 },
  messages_sent: { wholesale: '0.0004', retail: '0.001' },
};

/** Decisions, section 10, Rate card. */
describe('The rate card', () => {
  let world: World;
  let north: TestPartner;

  before(async () => {
    world = await startWorld();
  });
  beforeEach(async () => {
    north = await newPartner(world);
  });
  after(endWorld);

  const put = (body: unknown, headers: Record<string, string> = {}) =>
    north.api.request('PUT', RATE_CARD, body, { headers });

  it('has no prices at first: its version is 0, which the first PUT may name in If-Match', async () => {
    const answer = await north.api.get(RATE_CARD);
    expect(answer.as(rateCard)).to.deep.equal({ version: 0, currency: 'EUR', rates: {}, updated_at: null });
    expect(answer.header('etag')).to.equal('"0"');
    expect((await put({ rates: RATES }, { 'if-match': '"1"' })).error).to.equal('conflict');
    expect((await put({ rates: RATES }, { 'if-match': '"0"' })).as(rateCard).version).to.equal(1);
  });

  it('uses the currency of the partner’s own tenant by default', async () => {
    const home = await world.tenant();
    await world.platform.patch(`/super/tenants/${home.id}`, { currency: 'CHF' });
    await world.platform.patch(`/super/partners/${north.id}`, { home_tenant_id: home.id });
    expect((await north.api.get(RATE_CARD)).as(rateCard).currency).to.equal('CHF');
    expect((await put({ rates: {} })).as(rateCard).currency).to.equal('CHF');
    expect((await put({ currency: 'USD', rates: {} })).as(rateCard).currency).to.equal('USD');
    expect((await put({ rates: {} })).as(rateCard).currency).to.equal('USD');
  });

  it('is replaced as a whole, and read at once', async () => {
    const first = await put({ currency: 'EUR', rates: RATES });
    expect(first.as(rateCard)).to.deep.include({ version: 1, currency: 'EUR', rates: RATES });
    expect(first.header('etag')).to.equal('"1"');
    expect(first.header('x-event-position')).to.be.a('string');
    const { messages_sent } = RATES;
    const second = await putCard(north, { messages_sent });
    expect(second).to.deep.include({ version: 2, rates: { messages_sent } });
    const read = await north.api.get(RATE_CARD);
    expect(read.as(rateCard)).to.deep.equal(second);
    expect(read.header('etag')).to.equal('"2"');
    await world.server.stop();
    await world.restart();
    expect((await north.api.get(RATE_CARD)).as(rateCard)).to.deep.equal(second);
  });

  it('honours If-Match', async () => {
    await putCard(north, RATES);
    await putCard(north, RATES, { 'if-match': '"1"' });
    for (const stale of ['"1"', '"3"', '"0"', '"x"']) {
      const { status, error } = await put({ rates: {} }, { 'if-match': stale });
      expect([status, error], stale).to.deep.equal([409, 'conflict']);
    }
    expect((await put({ rates: {} }, { 'if-match': 'x' })).status).to.equal(400);
    expect((await putCard(north, {}, { 'if-match': '*' })).version).to.equal(3);
  });

  it('lets one of many replacements of the same version win, and never mixes two cards in a read', async () => {
    await putCard(north, RATES);
    const cards = Array.from({ length: 20 }, (_, nth) => ({
      active_users: { wholesale: String(nth), retail: String(nth) },
      messages_sent: { wholesale: String(nth), retail: String(nth) },
    }));
    const answers = cards.map((rates) => put({ rates }, { 'if-match': '"1"' }));
    const reads = Array.from({ length: 20 }, () => north.api.get(RATE_CARD));
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).to.have.length(1);
    expect(statuses.filter((status) => status === 409)).to.have.length(19);
    for (const read of await Promise.all(reads)) {
      const { version, rates } = read.as(rateCard);
      if (version === 1) expect(rates).to.deep.equal(RATES);
      else expect(rates.active_users?.retail).to.equal(rates.messages_sent?.retail);
    }
  });

  it('changes once for an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'one' };
    const first = await put({ rates: RATES }, headers);
    expect((await put({ rates: RATES }, headers)).text).to.equal(first.text);
    expect((await north.api.get(RATE_CARD)).as(rateCard).version).to.equal(1);
  });

  it('refuses invalid cards, and changes nothing', async () => {
    const rate = { wholesale: '1', retail: '2' };
    const wrong: readonly unknown[] = [
      {},
      { rates: [] },
      { rates: { page_views: rate } },
      { rates: { messages_sent: { wholesale: '1' } } },
      { rates: { messages_sent: { ...rate, unit: 'x' } } },
      { rates: {}, more: 1 },
      { rates: {}, currency: 'eur' },
      { rates: {}, currency: null },
      ...[
        '-1',
        '-0',
        '+1',
        '01',
        '1.',
        '.5',
        '1e3',
        '0.0000001',
        '1,5',
        ' 1',
        '1 ',
        '',
        'NaN',
        '١',
        '1234567890',
      ].flatMap((price) => [
        { rates: { messages_sent: { ...rate, wholesale: price } } },
        { rates: { messages_sent: { ...rate, retail: price } } },
      ]),
      ...[1, null, true].map((retail) => ({ rates: { messages_sent: { ...rate, retail } } })),
      ...[-1, 1.5, '1', null, 2 ** 53].map((included) => ({
        rates: { messages_sent: { ...rate, included } },
      })),
    ];
    for (const body of wrong) {
      const answer = await put(body);
      expect(answer.status, JSON.stringify(body)).to.equal(400);
      validationFailed.parse(answer.json);
    }
    for (const raw of [
      '{"rates":{"__proto__":{"wholesale":"1","retail":"1"}}}',
      '{"rates":{"constructor":{}}}',
    ]) {
      const answer = await north.api.request('PUT', RATE_CARD, undefined, { raw });
      expect(answer.status, raw).to.equal(400);
    }
    expect((await north.api.get(RATE_CARD)).as(rateCard).version).to.equal(0);
  });

  it('is separate for each partner', async () => {
    await putCard(north, RATES);
    const { partner: south } = await partnerWith(world, 0);
    expect((await south.api.get(RATE_CARD)).as(rateCard).version).to.equal(0);
  });
});
