import { createHash, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { conversation, conversations, validationFailed } from '../../support/shapes.ts';
import {
  BASE,
  endWorld,
  type Member,
  say,
  sharedWorld,
  type TestTenant,
  talk,
  USERS,
  type World,
} from '../../support/world.ts';

describe('Conversations', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;
  let ben: Member;
  let cy: Member;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
    ben = await tenant.person('Ben');
    cy = await tenant.person('Cy');
  });
  after(endWorld);

  const start = (caller: Member, ids: unknown) => caller.api.post(BASE, { participant_user_ids: ids });

  const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

  describe('starting a conversation', () => {
    it('answers 201 with the record, then 200 with the same for the same people in any order', async () => {
      const created = (await start(ada, [ben.id, cy.id])).as(conversation, 201);
      const people = [ada.id, ben.id, cy.id].sort();
      expect(created.dm_key).to.equal(sha256(people.join(',')));
      expect(created.participants.map(({ user_id }) => user_id).sort()).to.deep.equal(people);
      expect(created.participants.map(({ display_name }) => display_name).sort()).to.deep.equal([
        'Ada',
        'Ben',
        'Cy',
      ]);
      for (const { last_read_at } of created.participants) expect(last_read_at).to.equal(null);
      for (const [caller, ids] of [
        [ada, [cy.id, ben.id]],
        [ada, [cy.id, ben.id, cy.id, ada.id]],
        [ben, [ada.id, cy.id]],
        [cy, [ada.id, ben.id, cy.id]],
      ] as const) {
        expect((await start(caller, ids)).as(conversation, 200)).to.deep.equal(created);
      }
    });

    it('separates different sets of people', async () => {
      const pair = (await start(ada, [ben.id])).as(conversation, 201);
      expect(pair.dm_key).to.equal(sha256([ada.id, ben.id].sort().join(',')));
      expect(pair.id).not.to.equal((await start(ada, [ben.id, cy.id])).as(conversation, 200).id);
    });

    it('shows the last read of each participant of an existing one', async () => {
      const id = await talk(ada, cy);
      await cy.api.post(`${BASE}/${id}/read`);
      const [mine, theirs] = (await start(ada, [cy.id]))
        .as(conversation)
        .participants.toSorted((a) => (a.user_id === ada.id ? -1 : 1));
      expect(mine?.last_read_at).to.equal(null);
      expect(theirs?.last_read_at).to.be.a('string');
    });

    for (const [what, ids] of [
      ['an empty list', () => []],
      ['only the caller', () => [ada.id]],
      ['only the caller, three times', () => [ada.id, ada.id, ada.id]],
      ['a missing list', () => undefined],
      ['null', () => null],
      ['a text', () => ben.id],
      ['numbers', () => [1, 2]],
      ['nested lists', () => [[ben.id]]],
      ['51 people', () => Array.from({ length: 50 }, () => randomUUID())],
    ] as const) {
      it(`refuses ${what} with 400`, async () => {
        const { details } = (await start(ada, ids())).as(validationFailed, 400);
        expect(details.field).to.match(/^participant_user_ids/);
      });
    }

    it('accepts 50 people and not 51', async () => {
      const many: Member[] = [];
      for (let i = 0; i < 50; i += 1) many.push(await tenant.person(`Person ${i}`));
      const ids = many.map(({ id }) => id);
      (await start(ada, ids)).as(validationFailed, 400);
      const full = (await start(ada, ids.slice(1))).as(conversation, 201);
      expect(full.participants).to.have.length(50);
      (await start(ada, [...ids.slice(1), ...ids.slice(1), ada.id])).as(conversation, 200);
    });

    it('answers 404 with the same bytes for anyone but active users of the tenant', async () => {
      const gone = await tenant.person('Gone');
      await tenant.admin.api.patch(`${USERS}/${gone.id}`, { status: 'deactivated' });
      const stranger = await (await world.tenant()).person('Stranger');
      const texts = new Set<string>();
      for (const id of [
        gone.id,
        stranger.id,
        randomUUID(),
        'nobody',
        '',
        '../x',
        '%00',
        'ü\u0000',
        '\ud800',
        'a'.repeat(128),
      ]) {
        const answer = await start(ada, [ben.id, id]);
        expect([answer.status, answer.error], JSON.stringify(id)).to.deep.equal([404, 'not_found']);
        texts.add(answer.text);
      }
      expect(texts.size).to.equal(1);
    });

    it('answers twenty concurrent requests with one 201, nineteen 200 and one id', async () => {
      const dee = await tenant.person('Dee');
      const eve = await tenant.person('Eve');
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? start(dee, [eve.id]) : start(eve, [dee.id]))),
      );
      expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
      expect(answers.filter(({ status }) => status === 200)).to.have.length(19);
      expect(new Set(answers.map(({ json }) => conversation.parse(json).id)).size).to.equal(1);
    });
  });

  describe('the list of conversations', () => {
    it('has the newest activity first, with its time and the caller’s unread count', async () => {
      const own = await world.tenant();
      const [fay, gus, hal] = [await own.person('Fay'), await own.person('Gus'), await own.person('Hal')];
      const first = await talk(fay, gus);
      const second = await talk(fay, hal);
      const foreign = await talk(gus, hal);
      const list = async (who: Member) => (await who.api.get(BASE)).as(conversations);
      expect((await list(fay)).map(({ id }) => id)).to.deep.equal([second, first]);
      const sent = await say(gus, first, 'hello');
      const [top, other] = await list(fay);
      expect(top).to.deep.include({ id: first, unread_count: 1, last_message_at: sent.created_at });
      expect(other).to.deep.include({ id: second, unread_count: 0, last_message_at: null });
      expect((await list(gus)).map(({ id, unread_count }) => [id, unread_count])).to.deep.equal([
        [first, 0],
        [foreign, 0],
      ]);
      expect((await list(await own.person('Ida'))).length).to.equal(0);
    });

    it('has pages without gap or duplicate by Link', async () => {
      const own = await world.tenant();
      const caller = await own.person('Caller');
      const ids: string[] = [];
      for (let i = 0; i < 7; i += 1) ids.unshift(await talk(caller, await own.person(`P${i}`)));
      const seen: string[] = [];
      let next: string | undefined = `${BASE}?limit=3`;
      const sizes: number[] = [];
      while (next !== undefined) {
        const answer = await caller.api.get(next);
        const page = answer.as(conversations);
        sizes.push(page.length);
        seen.push(...page.map(({ id }) => id));
        next = /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
      }
      expect(seen).to.deep.equal(ids);
      expect(sizes).to.deep.equal([3, 3, 1]);
    });

    it('shows present names', async () => {
      const own = await world.tenant();
      const jan = await own.person('Jan');
      const kim = await own.person('Kim');
      await talk(jan, kim);
      await own.admin.api.patch(`${USERS}/${kim.id}`, { display_name: 'Kimberley' });
      const [listed] = (await jan.api.get(BASE)).as(conversations);
      expect(listed?.participants.map(({ display_name }) => display_name).sort()).to.deep.equal([
        'Jan',
        'Kimberley',
      ]);
    });
  });
});
