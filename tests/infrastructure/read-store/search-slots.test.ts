import { expect } from 'chai';
import { TooManySearches } from '../../../application/ports/searches.ts';
import { searchSlots } from '../../../infrastructure/read-store/sqlite/search-slots.ts';

describe('Slots of searches', () => {
  const limits = { atOnce: 3, waiting: 2, waitingOfTenant: 2, deadlineMs: 60_000 };

  it('begin a tenant’s search at once in a free slot, although searches of others fill the queue', async () => {
    const inSlot = searchSlots(limits);
    const busy = Promise.withResolvers<void>();
    const others = Array.from({ length: 3 }, () => inSlot('busy', () => busy.promise));
    expect(await inSlot('quiet', async () => 'found')).to.equal('found');
    busy.resolve();
    await Promise.all(others);
  });

  it('refuse a search that would have to wait in a full queue', async () => {
    const inSlot = searchSlots(limits);
    const busy = Promise.withResolvers<void>();
    const others = Array.from({ length: 3 }, () => inSlot('busy', () => busy.promise));
    const refused = await inSlot('busy', async () => 'found').catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(TooManySearches);
    busy.resolve();
    await Promise.all(others);
  });
});
