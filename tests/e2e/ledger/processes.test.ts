import { expect } from 'chai';
import { keyed } from '../../support/client.ts';
import { eventually, type Server } from '../../support/server.ts';
import { endWorld, sharedPair, type TestTenant, type World } from '../../support/world.ts';
import { ACCOUNTS, drafted, ENTRIES, entry, LOCK, move, refused, withBooks } from './support.ts';

describe('The ledger on two processes', () => {
  let world: World;
  let other: Server;
  let tenant: TestTenant;

  before(async () => {
    ({ world, other } = await sharedPair());
    tenant = await withBooks(world);
  });
  after(endWorld);

  const on = (which: number) => (which % 2 === 0 ? tenant.admin.api : tenant.admin.api.at(other));

  it('gives each number once, and lets one caller post each entry', async () => {
    const drafts = await Promise.all(Array.from({ length: 24 }, () => drafted(tenant.admin.api, {})));
    // A slow store may make a request answer 503: the test repeats it under its key.
    const posted = (id: string, which: number) =>
      eventually('an answer', async () => {
        const answer = await on(which).post(`${ENTRIES}/${id}/post`, undefined, keyed(`${id} ${which}`));
        return answer.status !== 503 && answer;
      });
    const answers = await Promise.all(drafts.flatMap(({ id }) => [0, 1].map((which) => posted(id, which))));
    const won = answers.filter(({ status }) => status === 200).map((answer) => answer.as(entry));
    for (const lost of answers.filter(({ status }) => status !== 200)) {
      expect(refused(lost)).to.deep.include({ status: 409, error: 'immutable' });
    }
    expect(new Set(won.map(({ id }) => id)).size).to.equal(drafts.length);
    const numbers = won.map(({ number }) => number ?? 0).sort((a, b) => a - b);
    expect(numbers).to.deep.equal(drafts.map((_, nth) => nth + 1));
  }).timeout(60_000);

  it('shows at once what the other process has written', async () => {
    for (let nth = 0; nth < 4; nth += 1) {
      const code = `P${nth}`;
      await on(nth).post(ACCOUNTS, { code, name: 'New', type: 'Asset' });
      const made = await drafted(on(nth + 1), { lines: move(code, '4000', 1) });
      expect((await on(nth).patch(`${ENTRIES}/${made.id}`, { memo: 'changed' })).as(entry).memo).to.equal(
        'changed',
      );
      const posted = (await on(nth + 1).post(`${ENTRIES}/${made.id}/post`)).as(entry);
      expect(posted.memo).to.equal('changed');
      expect((await on(nth).delete(`${ENTRIES}/${made.id}`)).error).to.equal('immutable');
      expect((await on(nth).post(`${ENTRIES}/${made.id}/reverse`, {})).status).to.equal(201);
      expect((await on(nth + 1).post(`${ENTRIES}/${made.id}/reverse`, {})).error).to.equal('immutable');
    }
  }).timeout(60_000);

  it('follows a lock that the other process has set', async () => {
    const { id } = await drafted(on(0), {});
    await on(1).request('PUT', LOCK, { locked_through: '2026-12-31' });
    expect((await on(0).post(`${ENTRIES}/${id}/post`)).error).to.equal('period_locked');
    await on(1).request('PUT', LOCK, { locked_through: null });
    expect((await on(0).post(`${ENTRIES}/${id}/post`)).status).to.equal(200);
  });
});
