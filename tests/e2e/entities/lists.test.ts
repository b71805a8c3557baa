import { expect } from 'chai';
import { endWorld, type Member, sharedWorld, type World } from '../../support/world.ts';
import { at, create, define, issuesOf, records } from './support.ts';

/** Lists of records (decisions, sections 1 and 6): sizes of pages, and validity of cursors. */
describe('Lists of records', () => {
  let world: World;
  let admin: Member;

  before(async () => {
    world = await sharedWorld();
    ({ admin } = await world.tenant());
  });
  after(endWorld);

  const nextOf = (link: string | undefined): string | undefined =>
    /^<([^>]+)>; rel="next"$/.exec(link ?? '')?.[1];

  it('of large records end a page early, and continue on the next page', async () => {
    const name = await define(admin, { key: 'n', type: 'integer' }, { key: 'a', type: 'long_text' });
    const a = '😀'.repeat(90_000);
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) ids.unshift((await create(admin, name, { n, a })).id);
    for (const query of ['', '&filter=n>=0', '&sort=-n', '&sort=-n&filter=n>=0']) {
      const seen: string[] = [];
      let pages = 0;
      let path: string | undefined = `${at(name)}?limit=200${query}`;
      while (path !== undefined) {
        const page = await admin.api.get(path);
        const found = page.as(records);
        expect(Buffer.byteLength(page.text), query).to.be.below(2.5 * 1024 * 1024);
        expect(found, query).not.to.deep.equal([]);
        seen.push(...found.map(({ id }) => id));
        pages += 1;
        path = nextOf(page.header('link'));
      }
      expect(seen, query).to.deep.equal(ids);
      expect(pages, query).to.be.greaterThan(1);
    }
  }).timeout(60_000);

  it('sorted by a text of any length have short cursors, also while records change between pages', async () => {
    const name = await define(admin, { key: 'body', type: 'long_text' });
    const long = '😀'.repeat(30_000);
    const bodies = [...['b', 'a', 'd', 'c', 'f', 'e'].map((end) => `${long}${end}`), 'short', null];
    const made = await Promise.all(bodies.map((body) => create(admin, name, { body })));
    const [b, a, d, c, f, e, short, none] = made.map(({ id }) => id);
    const ascending = [none, short, a, b, c, d, e, f];
    const pages = async (sort: string, limit: number, between = async (_page: number) => {}) => {
      const seen: string[] = [];
      let path: string | undefined = `${at(name)}?sort=${sort}&limit=${limit}`;
      for (let page = 0; path !== undefined; page += 1) {
        const answer = await admin.api.get(path);
        seen.push(...answer.as(records).map(({ id }) => id));
        const link = answer.header('link') ?? '';
        expect(link.length, 'characters of Link').to.be.below(2_200);
        path = nextOf(link);
        if (path !== undefined) await between(page);
      }
      return seen;
    };
    for (const limit of [1, 3]) {
      expect(await pages('body', limit)).to.deep.equal(ascending);
      expect(await pages('-body', limit)).to.deep.equal(ascending.toReversed());
    }
    const changing = await pages('body', 4, async (page) => {
      if (page > 0) return;
      // Deletes the last row of the page, and moves the row before it to the end of the list.
      await admin.api.delete(at(name, b));
      await admin.api.patch(at(name, a), { values: { body: `${long}z` } });
    });
    expect(changing).to.deep.equal([none, short, a, b, c, d, e, f, a]);
  }).timeout(60_000);

  it('refuse a cursor of another list', async () => {
    const fields = [
      { key: 's', type: 'text' },
      { key: 'd', type: 'text' },
    ] as const;
    const [name, other] = [await define(admin, ...fields), await define(admin, ...fields)];
    for (const [s, d] of [
      ['a', 'z'],
      ['b', 'y'],
      ['c', 'x'],
    ]) {
      await create(admin, name, { s, d });
      await create(admin, other, { s, d });
    }
    const lists = ['', 'sort=s', 'sort=-s', 'sort=d', 'filter=has(s)', 'filter=has(s)&sort=s'];
    const cursors = await Promise.all(
      lists.map(async (list) => {
        const page = await admin.api.get(`${at(name)}?limit=1&${list}`);
        return /[?&]cursor=([^&]+)/.exec(nextOf(page.header('link')) ?? '')?.[1];
      }),
    );
    for (const [nth, cursor] of cursors.entries()) {
      expect(cursor).to.be.a('string');
      for (const [at_, list] of lists.entries()) {
        // The limit may change from page to page.
        const answer = await admin.api.get(`${at(name)}?limit=2&${list}&cursor=${cursor}`);
        const what = `a cursor of "${lists[nth]}" in "${list}"`;
        if (at_ === nth) {
          expect(answer.as(records), what).to.have.length(2);
        } else {
          expect([answer.status, answer.error], what).to.deep.equal([400, 'validation_failed']);
          expect(issuesOf(answer.json), what).to.deep.equal(['cursor invalid_format']);
        }
      }
      const elsewhere = await admin.api.get(`${at(other)}?${lists[nth]}&cursor=${cursor}`);
      expect([elsewhere.status, elsewhere.error]).to.deep.equal([400, 'validation_failed']);
    }
  });
});
