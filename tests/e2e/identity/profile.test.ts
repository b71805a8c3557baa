import { expect } from 'chai';
import { z } from 'zod';
import type { Answer } from '../../support/client.ts';
import {
  newPartner,
  PORTAL,
  PROFILE,
  partnerToken,
  profile,
  type TestPartner,
} from '../../support/partners.ts';
import { errorWithDetails, validationFailed } from '../../support/shapes.ts';
import { endWorld, sharedWorld, startLater, type World } from '../../support/world.ts';

const MINE = { item_name_template: '{{ meter }}: {{quantity}}', item_description: 'for {{customer}}' };

/** Decisions, section 10, Profile. */
describe('The billing profile', () => {
  let world: World;
  let north: TestPartner;
  let south: TestPartner;

  before(async () => {
    world = await sharedWorld();
  });
  beforeEach(async () => {
    [north, south] = [await newPartner(world), await newPartner(world)];
  });
  after(endWorld);

  const put = (who: TestPartner, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    who.api.request('PUT', PROFILE, body, { headers });
  const read = async (who: TestPartner) => (await who.api.get(PROFILE)).as(profile);

  it('has valid default texts', async () => {
    const first = await read(north);
    expect(first.item_name_template).to.contain('{{meter}}');
    expect((await put(north, first)).as(profile)).to.deep.equal(first);
    expect(await read(north)).to.deep.equal(first);
  });

  it('is replaced, and read at once', async () => {
    expect((await put(north, MINE)).as(profile)).to.deep.equal(MINE);
    expect(await read(north)).to.deep.equal(MINE);
    const later = north.api.at(await startLater(world));
    expect((await later.get(PROFILE)).as(profile)).to.deep.equal(MINE);
  });

  it('is not changed by equal values', async () => {
    const first = await put(north, MINE);
    const again = await put(north, { ...MINE, more: 1 });
    expect(again.as(profile)).to.deep.equal(MINE);
    expect(again.header('x-event-position')).to.equal(first.header('x-event-position'));
    const changed = await put(north, { ...MINE, item_description: '' });
    expect(changed.header('x-event-position')).not.to.equal(first.header('x-event-position'));
  });

  it('changes once for an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'one' };
    const first = await put(north, MINE, headers);
    await put(north, { ...MINE, item_description: 'between' });
    const again = await put(north, MINE, headers);
    expect([again.status, again.text]).to.deep.equal([200, first.text]);
    expect(again.header('idempotency-replayed')).to.equal('true');
    expect((await read(north)).item_description).to.equal('between');
    // Idempotency keys are per partner.
    expect((await put(south, { ...MINE, item_description: 'theirs' }, headers)).status).to.equal(200);
  });

  for (const [field, value] of [
    ['item_name_template', ''],
    ['item_name_template', 'x'.repeat(201)],
    ['item_name_template', undefined],
    ['item_name_template', 7],
    ['item_description', 'x'.repeat(1001)],
    ['item_description', undefined],
    ['item_description', null],
  ] as const) {
    it(`refuses the ${field} ${JSON.stringify(value)?.slice(0, 20) ?? 'missing'}`, async () => {
      const before = await read(north);
      const answer = await put(north, { ...MINE, [field]: value });
      expect(answer.as(validationFailed, 400).details.field).to.equal(field);
      expect(await read(north)).to.deep.equal(before);
    });
  }

  it('accepts texts at their limits', async () => {
    const widest = { item_name_template: '😀'.repeat(200), item_description: 'ü'.repeat(1000) };
    expect((await put(north, widest)).as(profile)).to.deep.equal(widest);
    expect((await put(north, { ...MINE, item_description: '' })).status).to.equal(200);
  });

  for (const [template, variable] of [
    ['{{price}}', 'price'],
    ['{{customer}} {{meter', 'meter'],
    ['{{}}', ''],
    ['{{{customer}}}', '{customer'],
  ] as const) {
    for (const field of ['item_name_template', 'item_description'] as const) {
      it(`refuses ${template} in ${field}, with the variable and the field`, async () => {
        const before = await read(north);
        const answer = (await put(north, { ...MINE, [field]: template })).as(errorWithDetails, 422);
        expect([answer.error, answer.details]).to.deep.equal([
          'unknown_template_variable',
          { field, variable },
        ]);
        expect(await read(north)).to.deep.equal(before);
      });
    }
  }

  describe('of another partner', () => {
    it('is neither readable nor changeable', async () => {
      await put(south, MINE);
      const mine = { item_name_template: 'north', item_description: '' };
      await put(north, mine);
      for (const path of [
        `${PROFILE}?partner=${south.id}`,
        `${PROFILE}?id=${south.id}&customer_id=${south.id}`,
        `${PORTAL}/me?partner=${south.id}`,
      ]) {
        const answer = await north.api.get(path);
        expect([answer.status, answer.text.includes(south.id)]).to.deep.equal([400, false]);
      }
      await put(north, {
        ...mine,
        id: south.id,
        partner: south.id,
        tenant_id: south.id,
        item_description: 'x',
      });
      expect(await read(south)).to.deep.equal(MINE);
      expect(await read(north)).to.deep.equal({ ...mine, item_description: 'x' });
      // The same id at both partners is a different person.
      const twin = world.anybody.with(partnerToken(south.id, { sub: 'nora' }));
      expect((await twin.get(PROFILE)).as(profile)).to.deep.equal(MINE);
    });

    it('cannot be named: partner_id in a body or query is refused, even the caller’s own', async () => {
      const before = await read(north);
      const issue = z.object({
        error: z.literal('validation_failed'),
        details: z.object({ field: z.string() }),
      });
      for (const id of [south.id, north.id, '', 7, [north.id]]) {
        const answers = [
          await put(north, { ...MINE, partner_id: id }),
          await put(north, { partner_id: id }),
          await north.api.get(`${PROFILE}?partner_id=${encodeURIComponent(String(id))}`),
          await north.api.get(`${PORTAL}/me?partner_id=${encodeURIComponent(String(id))}`),
        ];
        for (const answer of answers) {
          expect(answer.as(issue, 400).details.field).to.equal('partner_id');
        }
      }
      expect(await read(north)).to.deep.equal(before);
      expect((await put(north, { ...MINE, partner_id: null })).status).to.equal(200);
    });

    it('stays separate when both change at the same time', async () => {
      await Promise.all(
        [north, south].flatMap((who) =>
          Array.from({ length: 10 }, (_, i) =>
            put(who, { item_name_template: who.id, item_description: `${who.id} ${i}` }),
          ),
        ),
      );
      for (const who of [north, south]) {
        const { item_name_template, item_description } = await read(who);
        expect(item_name_template).to.equal(who.id);
        expect(item_description).to.match(new RegExp(`^${who.id} \\d$`));
      }
    });
  });
});
