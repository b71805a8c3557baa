import { expect } from 'chai';
import { endWorld, type Member, sharedWorld, type World } from '../../support/world.ts';
import { at, create, define, records } from './support.ts';

/** Filters and sorts of records by the fields' indexes: results, plans and counts. */
describe('Queries of records', () => {
  let world: World;
  let admin: Member;
  let name: string;
  /** Ids of the records in the order of creation; the index is the number in `code`. */
  const ids: string[] = [];
  const ROWS = 40;

  before(async () => {
    world = await sharedWorld();
    ({ admin } = await world.tenant());
    name = await define(
      admin,
      { key: 'code', type: 'text' },
      { key: 'n', type: 'integer' },
      { key: 'total', type: 'decimal' },
      { key: 'due', type: 'date' },
      { key: 'body', type: 'long_text' },
    );
    for (let n = 0; n < ROWS; n += 1) {
      const values = {
        code: `${n % 2 === 0 ? 'even' : 'odd'}-${n}`,
        n: n % 4 === 0 ? null : n,
        total: `${n % 10}.5`,
        due: `2026-01-${String(1 + (n % 28)).padStart(2, '0')}`,
        body: `${'x'.repeat(130)}${n}`,
      };
      ids.push((await create(admin, name, { ...values })).id);
    }
  });
  after(endWorld);

  const ask = async (query: Record<string, string>) => {
    const answer = await admin.api.get(`${at(name)}?${new URLSearchParams({ limit: '200', ...query })}`);
    const found = answer.as(records).map(({ id }) => ids.indexOf(id));
    return { found, plan: answer.header('x-query-plan'), total: answer.header('x-total-count') };
  };
  const numbers = Array.from({ length: ROWS }, (_, n) => n);
  const newest = (matches: (n: number) => boolean) => numbers.filter(matches).toReversed();

  const FILTERS: readonly (readonly [string, (n: number) => boolean, string])[] = [
    ['code == "odd-7"', (n) => n === 7, 'lookup fields=code entries=1 of=40'],
    ['n >= 5 && n < 9', (n) => n >= 5 && n < 9 && n % 4 !== 0, 'lookup fields=n entries=3 of=40'],
    [
      'code.startsWith("even-1")',
      (n) => n % 2 === 0 && `${n}`.startsWith('1'),
      'lookup fields=code entries=5 of=40',
    ],
    ['total in [1.50, "3.5"]', (n) => n % 10 === 1 || n % 10 === 3, 'lookup fields=total entries=8 of=40'],
    ['!has(n)', (n) => n % 4 === 0, 'lookup fields=n entries=10 of=40'],
    ['total == 1.5 && due == "2026-01-12"', (n) => n === 11, 'lookup fields=due entries=2 of=40'],
    ['code == "odd-7" || n == 9', (n) => n === 7 || n === 9, 'lookup fields=code,n entries=2 of=40'],
    [`body == "${'x'.repeat(130)}7"`, (n) => n === 7, 'lookup fields=body entries=40 of=40'],
    ['created_at <= now() && state == null', () => true, 'lookup fields=$created_at entries=40 of=40'],
    ['code.contains("dd-3")', (n) => n % 2 === 1 && `${n}`.startsWith('3'), 'scan of=40'],
    ['code == "odd-7" || code.endsWith("-9")', (n) => n === 7 || n === 9, 'scan of=40'],
  ];
  for (const [filter, matches, plan] of FILTERS) {
    it(`finds ${filter.slice(0, 50)} by a plan that is shown when asked for`, async () => {
      const asked = await ask({ filter, explain: 'true', count: 'true' });
      expect(asked).to.deep.equal({ found: newest(matches), plan, total: String(newest(matches).length) });
      expect(await ask({ filter })).to.deep.include({ plan: undefined, total: undefined });
    });
  }

  it('pages through a list in the order of an indexed field', async () => {
    const missing = numbers.filter((n) => n % 4 === 0);
    const wanted = [...missing, ...numbers.filter((n) => n % 4 !== 0)];
    for (const [sort, order] of [
      ['n', wanted],
      ['-n', wanted.toReversed()],
    ] as const) {
      const seen: number[] = [];
      let path: string | undefined = `${at(name)}?sort=${sort}&limit=7&explain=true`;
      while (path !== undefined) {
        const page = await admin.api.get(path);
        expect(page.header('x-query-plan')).to.equal('order field=n of=40');
        seen.push(...page.as(records).map(({ id }) => ids.indexOf(id)));
        path = /^<([^>]+)>; rel="next"$/.exec(page.header('link') ?? '')?.[1];
      }
      expect(seen, sort).to.deep.equal(order);
    }
  });

  it('counts all rows of a list without a filter', async () => {
    expect((await ask({ limit: '1', count: 'true' })).total).to.equal('40');
  });

  it('sees changes at once', async () => {
    const other = await define(admin, { key: 'n', type: 'integer' });
    const made = await create(admin, other, { n: 1 });
    const count = async (filter: string) => {
      const answer = await admin.api.get(`${at(other)}?${new URLSearchParams({ filter, count: 'true' })}`);
      return [answer.as(records).length, answer.header('x-total-count')];
    };
    expect(await count('n == 1')).to.deep.equal([1, '1']);
    await admin.api.patch(at(other, made.id), { values: { n: 2 } });
    expect([await count('n == 1'), await count('n == 2')]).to.deep.equal([
      [0, '0'],
      [1, '1'],
    ]);
    await admin.api.delete(at(other, made.id));
    expect(await count('n == 2')).to.deep.equal([0, '0']);
  });

  it('refuses flags that are neither true nor false', async () => {
    for (const query of ['count=yes', 'explain=1']) {
      expect((await admin.api.get(`${at(name)}?${query}`)).status).to.equal(400);
    }
  });
});
