import { expect } from 'chai';
import type { CommittingSession } from '../../../application/bulk/runner.ts';
import { ofEachTenant } from '../../../application/bulk/worker.ts';

const sessions = (tenantId: string, count: number): CommittingSession[] =>
  Array.from({ length: count }, (_, nth) => ({ tenantId, sessionId: `${tenantId} ${nth}` }));

describe('The sessions a bulk worker looks at', () => {
  const pagesOf = (all: readonly CommittingSession[], read: { pages: number }) =>
    (async function* () {
      for (let at = 0; at < all.length; at += 100) {
        read.pages += 1;
        yield all.slice(at, at + 100);
      }
    })();

  it('are of all tenants, also when one tenant has a long backlog', async () => {
    const read = { pages: 0 };
    const found = await ofEachTenant(
      pagesOf([...sessions('a', 5_000), ...sessions('b', 2), ...sessions('a', 300)], read),
    );
    expect(found.filter(({ tenantId }) => tenantId === 'a')).to.have.length(50);
    expect(found.filter(({ tenantId }) => tenantId === 'b')).to.deep.equal(sessions('b', 2));
    // The oldest session comes first.
    expect(found[0]).to.deep.equal({ tenantId: 'a', sessionId: 'a 0' });
  });

  it('are limited to the number that the worker can start', async () => {
    const read = { pages: 0 };
    const all = Array.from({ length: 2_000 }, (_, nth) => sessions(`t${nth}`, 1)).flat();
    expect(await ofEachTenant(pagesOf(all, read))).to.have.length(100);
    expect(read.pages).to.equal(1);
  });
});
