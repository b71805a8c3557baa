import { expect } from 'chai';
import { z } from 'zod';
import { atPresentPace } from '../../support/pace.ts';
import { eventually, newDataFolder, type Server, startServer } from '../../support/server.ts';
import { forSuite } from '../../support/suite.ts';
import { BASE, say, startWorld, talk } from '../../support/world.ts';

const status = z.object({ status: z.string(), checks: z.record(z.string(), z.string()) });

describe('The status of an api node', () => {
  let worker: Server;
  const suite = forSuite(async () => {
    const dataDir = await newDataFolder();
    worker = await startServer({ dataDir, env: { ROLE: 'worker' } });
    const world = await startWorld({ dataDir, env: { ROLE: 'api', BUILD_REVISION: 'abc123' } });
    const tenant = await world.tenant();
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    return { world, ada, id: await talk(ada, ben), dataDir };
  });

  const health = async () => {
    const answer = await suite().world.anybody.get('/health/ready');
    return { code: answer.status, ...status.parse(answer.json) };
  };

  it('names the build', async () => {
    const { json } = await suite().world.anybody.get('/version');
    expect(json).to.deep.equal({ version: '0.1.0', revision: 'abc123', node: process.versions.node });
  });

  it('is ready while a worker folds the read models', async () => {
    const ready = await eventually('ready', async () => {
      const found = await health();
      return found.status === 'ready' && found;
    });
    expect(ready.checks).to.deep.include({ read_models: 'ok', workers: 'ok', first_run: 'ok' });
  });

  it('reports that no worker runs; reads that need one are 503 with Retry-After, and other requests succeed', async () => {
    const { world, ada, id } = suite();
    await worker.stop();
    await say(ada, id, 'folded by nobody');
    const found = await eventually(
      'no worker',
      async () => {
        const now = await health();
        return now.status === 'no_worker' && now;
      },
      60_000,
    );
    expect([found.code, found.checks.workers]).to.deep.equal([200, 'missing']);
    const began = performance.now();
    const read = await ada.api.get(`${BASE}/${id}/messages`);
    expect([read.status, read.header('retry-after')]).to.deep.equal([503, '5']);
    expect(read.json).to.deep.include({ error: 'read_model_behind' });
    expect(performance.now() - began).to.be.lessThan(await atPresentPace(4000));
    expect((await world.anybody.get('/version')).status).to.equal(200);
    await say(ada, id, 'written all the same');
  });

  it('is ready again once a worker runs', async () => {
    const { ada, id, dataDir } = suite();
    worker = await startServer({ dataDir, env: { ROLE: 'worker' } });
    await eventually('ready', async () => (await health()).status === 'ready', 60_000);
    const { text } = await ada.api.get(`${BASE}/${id}/messages`);
    expect(text).to.contain('folded by nobody').and.to.contain('written all the same');
  });
});
