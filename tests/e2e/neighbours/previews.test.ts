import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { BULK, bodyOf, DELETE } from '../bulk/support.ts';
import { define } from '../entities/support.ts';
import { meanwhile } from './support.ts';

describe('Previews of 100,000 ids', function () {
  this.timeout(180_000);
  let world: World;
  let tenant: TestTenant;
  let entity: string;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    entity = await define(tenant.admin, { key: 'n', type: 'integer' });
  });
  after(endWorld);

  it('wait with their bodies unread, and hold no tick for long', async () => {
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
    const { result, grownMiB, blockedBy } = await meanwhile(world.server, async () => {
      const stopping = new AbortController();
      const first = Array.from({ length: 80 }, () => statusOf(stopping.signal));
      const statuses = new Set<number | undefined>();
      const done = first.map(async (status) => statuses.add(await status));
      await eventually(
        'a preview is made and another refused',
        () => statuses.has(201) && statuses.has(429),
        120_000,
      );
      stopping.abort();
      await Promise.all(done);
      return [...statuses];
    });
    expect(result).to.include(201);
    expect(result).to.include(429);
    expect(grownMiB).to.be.below(900);
    expect(blockedBy).to.deep.equal([]);
  });
});
