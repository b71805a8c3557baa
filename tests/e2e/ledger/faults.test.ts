import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import { drafted, ENTRIES, type Entry, entry, posted, withBooks } from './support.ts';

describe('kill -9 during postings and reversals', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(endWorld);

  it('leaves every entry drafted or posted, each number once, and every answered write in place', async () => {
    const tenant = await withBooks(world);
    const { api } = tenant.admin;
    const originals = await Promise.all(Array.from({ length: 40 }, () => posted(api)));
    const drafts = await Promise.all(Array.from({ length: 120 }, () => drafted(api, {})));
    const calls = [
      ...drafts.map(({ id }) => ({ id, path: `${ENTRIES}/${id}/post` })),
      ...originals.map(({ id }) => ({ id, path: `${ENTRIES}/${id}/reverse` })),
    ].map((call) => ({ ...call, key: { headers: { 'idempotency-key': randomUUID() } } }));
    const answered = new Map<string, Entry>();
    const killed = Promise.withResolvers<void>();
    const asking = calls.map(async ({ id, path, key }) => {
      const answer = await api.post(path, {}, key).catch(() => undefined);
      if (answer === undefined || answer.status >= 500) return;
      answered.set(id, entry.parse(answer.json));
      if (answered.size >= 25) killed.resolve();
    });
    await killed.promise;
    await world.server.kill();
    await Promise.all(asking);
    await world.restart();
    await world.ready();
    const list = async () => {
      const all: Entry[] = [];
      let path: string | undefined = `${ENTRIES}?limit=200`;
      while (path !== undefined) {
        const page = await api.get(path);
        all.push(...page.as(entry.array()));
        path = /<([^>]+)>; rel="next"/.exec(page.header('link') ?? '')?.[1];
      }
      return all;
    };
    const now = new Map((await list()).map((each) => [each.id, each]));
    for (const [id, { number }] of answered) {
      expect(now.get(id)?.state, id).to.equal(
        drafts.some((draft) => draft.id === id) ? 'posted' : 'reversed',
      );
      expect([...now.values()].filter((each) => each.number === number)).to.have.length(1);
    }
    // Repeats every request with its key: each has its effect once.
    for (const { id, path, key } of calls) {
      const again = entry.parse((await api.post(path, {}, key)).json);
      const before = answered.get(id);
      if (before !== undefined) expect(again).to.deep.equal(before);
    }
    const all = await eventually('all entries', async () => {
      const found = await list();
      return found.length === 200 ? found : undefined;
    });
    const numbers = all.flatMap(({ number }) => number ?? []).sort((a, b) => a - b);
    expect(numbers).to.deep.equal(Array.from({ length: 200 }, (_, nth) => nth + 1));
    const count = (state: string) => all.filter((each) => each.state === state).length;
    expect([count('draft'), count('posted'), count('reversed')]).to.deep.equal([0, 160, 40]);
  }).timeout(90_000);
});
