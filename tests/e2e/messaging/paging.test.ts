import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type Message, messages, validationFailed } from '../../support/shapes.ts';
import {
  BASE,
  endWorld,
  type Member,
  say,
  sharedWorld,
  type TestTenant,
  talk,
  type World,
} from '../../support/world.ts';

describe('Paging of messages', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;
  let ben: Member;
  let id: string;
  let sent: Message[];

  const SIZE = 230;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
    ben = await tenant.person('Ben');
    id = await talk(ada, ben);
    for (let i = 0; i < SIZE; i += 10) {
      await Promise.all(Array.from({ length: 10 }, (_, k) => say(ada, id, `number ${i + k}`)));
    }
    sent = (await read('?limit=200')).page;
    sent = [...(await read(`?limit=200&before=${sent[0]?.id}`)).page, ...sent];
  });
  after(endWorld);

  const nextOf = (link: string | undefined): string | undefined =>
    link === undefined ? undefined : (/^<([^>]+)>; rel="next"$/.exec(link)?.[1] ?? 'a malformed link');

  const readPath = async (path: string) => {
    const answer = await ben.api.get(path);
    return { page: answer.as(messages), next: nextOf(answer.header('link')) };
  };
  const read = (query: string) => readPath(`${BASE}/${id}/messages${query}`);

  const idsOf = (page: readonly Message[]) => page.map((message) => message.id);

  describe('the list of messages', () => {
    it('is the newest page, oldest first, of 50 by default', async () => {
      expect(sent).to.have.length(SIZE);
      const { page, next } = await read('');
      expect(page).to.deep.equal(sent.slice(-50));
      expect(next).to.be.a('string');
    });

    for (const [given, size] of [
      ['1', 1],
      ['3', 3],
      ['200', 200],
      ['201', 200],
      ['999999', 200],
      ['0', 1],
      ['-5', 1],
    ] as const) {
      it(`clamps limit=${given} to ${size}`, async () => {
        expect((await read(`?limit=${given}`)).page).to.have.length(size);
      });
    }

    for (const given of ['', 'x', '1.5', '1e2', ' 5', '0x10', 'NaN', '5&limit=6']) {
      it(`refuses limit=${given}`, async () => {
        const answer = await ben.api.get(`${BASE}/${id}/messages?limit=${given}`);
        expect(answer.as(validationFailed, 400).details.field).to.equal('limit');
      });
    }

    for (const limit of [1, 7, 50, 115, 200]) {
      it(`is complete in pages of ${limit}`, async () => {
        const seen: Message[] = [];
        let path: string | undefined = `${BASE}/${id}/messages?limit=${limit}`;
        let pages = 0;
        while (path !== undefined) {
          const { page, next } = await readPath(path);
          seen.unshift(...page);
          path = next;
          pages += 1;
        }
        expect(seen).to.deep.equal(sent);
        expect(pages).to.equal(Math.ceil(SIZE / limit));
      });
    }

    it('is not affected by messages sent between pages', async () => {
      const extra = await talk(ada, ben);
      const seen: string[] = [];
      let path: string | undefined = `${BASE}/${extra}/messages?limit=40`;
      while (path !== undefined) {
        const { page, next } = await readPath(path);
        seen.unshift(...idsOf(page));
        path = next;
        sent.push(await say(ben, extra, 'meanwhile'));
      }
      expect(new Set(seen).size).to.equal(seen.length);
      expect(seen).to.deep.equal(idsOf(sent.slice(0, SIZE)));
    });

    it('continues in both directions from any message', async () => {
      for (const at of [0, 1, 100, SIZE - 1]) {
        const anchor = sent[at]?.id;
        const older = await read(`?limit=5&before=${anchor}`);
        expect(idsOf(older.page)).to.deep.equal(idsOf(sent.slice(Math.max(0, at - 5), at)));
        expect(older.next === undefined).to.equal(at <= 5);
        const newer = await read(`?limit=5&after=${anchor}`);
        expect(idsOf(newer.page)).to.deep.equal(idsOf(sent.slice(at + 1, at + 6)));
      }
    });

    it('accepts a deleted message as an anchor', async () => {
      const gone = await say(ada, id, 'to go');
      await ada.api.delete(`${BASE}/${id}/messages/${gone.id}`);
      const last = await say(ada, id, 'last');
      expect(idsOf((await read(`?after=${gone.id}`)).page)).to.deep.equal([last.id]);
      expect(idsOf((await read(`?limit=1&before=${last.id}`)).page)).to.deep.equal([gone.id]);
      sent.push(gone, last);
    });

    it('answers 404 for an anchor of another conversation', async () => {
      const elsewhere = await say(ada, await talk(ada, await tenant.person('X')), 'there');
      for (const anchor of [randomUUID(), 'x', '', elsewhere.id, id]) {
        for (const side of ['before', 'after']) {
          const answer = await ben.api.get(`${BASE}/${id}/messages?${side}=${anchor}`);
          expect([answer.status, answer.error], `${side}=${anchor}`).to.deep.equal([404, 'not_found']);
        }
      }
    });

    it('refuses both anchors at once', async () => {
      const anchor = sent[3]?.id;
      const answer = await ben.api.get(`${BASE}/${id}/messages?before=${anchor}&after=${anchor}`);
      answer.as(validationFailed, 400);
    });

    it('is empty for a conversation without messages', async () => {
      const cy = await tenant.person('Cy');
      const answer = await cy.api.get(`${BASE}/${await talk(cy, ada)}/messages`);
      expect([answer.json, answer.header('link')]).to.deep.equal([[], undefined]);
    });
  });
});
