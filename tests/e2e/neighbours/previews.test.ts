import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { BULK, bodyOf, DELETE } from '../bulk/support.ts';
import { define } from '../entities/support.ts';
import { meanwhile } from './support.ts';

describe('Previews of 100,000 ids', function () {
  this.timeout(90_000);
  let world: World;
  let tenant: TestTenant;
  let entity: string;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    entity = await define(tenant.admin, { key: 'n', type: 'integer' });
  });
  after(endWorld);

  it('wait with their bodies unread, and leave the process to others', async () => {
    const raw = JSON.stringify(
      bodyOf(
        entity,
        DELETE,
        Array.from({ length: 100_000 }, () => randomUUID()),
      ),
    );
    const statusOf = async (signal: AbortSignal): Promise<number | undefined> => {
      const headers = { authorization: `Bearer ${tenant.admin.token}`, 'content-type': 'application/json' };
      const url = `${world.server.base}${BULK}/preview`;
      const answer = await fetch(url, { method: 'POST', headers, body: raw, signal }).catch(() => undefined);
      return answer?.status;
    };
    const { result, grownMiB, pulse } = await meanwhile(world.server, async () => {
      const stopping = new AbortController();
      const first = Array.from({ length: 80 }, () => statusOf(stopping.signal));
      const statuses = new Set<number | undefined>([await Promise.race(first)]);
      setTimeout(() => stopping.abort(), 10_000);
      for (const status of await Promise.all(first)) statuses.add(status);
      return [...statuses];
    });
    expect(result).to.include(201);
    expect(result).to.include(429);
    expect(grownMiB).to.be.below(900);
    // One body of 4 MB takes some 50 ms of one tick to parse.
    expect(pulse.longestMs).to.be.below(2_000);
  });
});
