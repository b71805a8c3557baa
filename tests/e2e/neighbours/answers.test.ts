import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { define, ENTITIES } from '../entities/support.ts';
import { getOf, meanwhile, readNothing, type Silent } from './support.ts';

describe('Answers that are never read', function () {
  this.timeout(120_000);
  let world: World;
  let tenant: TestTenant;
  let entity: string;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    entity = await define(tenant.admin, { key: 'text', type: 'long_text' });
    const values = { text: 'x'.repeat(20_000) };
    for (let nth = 0; nth < 60; nth += 1) {
      const made = await tenant.admin.api.post(`${ENTITIES}/${entity}/records`, { values });
      if (made.status !== 201) throw new Error(made.text);
    }
  });
  after(endWorld);

  const flood = async (count: number, request: string): Promise<Silent[]> => {
    const all: Silent[] = [];
    for (let at = 0; at < count; at += 20) {
      all.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(20, count - at) }, () => readNothing(world.server, request)),
        )),
      );
    }
    return all;
  };

  const cut = async (): Promise<number> => {
    const { text } = await world.anybody.get('/metrics');
    return [...text.matchAll(/^workflow_http_connections_cut_total\{.*\} (\d+)$/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
  };

  it('take no more memory than the limit of their caller, and close the caller’s connections beyond it', async () => {
    const before = await cut();
    const request = getOf(`${ENTITIES}/${entity}/records?limit=200`, tenant.admin.token);
    const { result, grownMiB } = await meanwhile(world.server, async () => {
      // Sends all requests at once, for more answers than the buffers of the operating system take.
      const burst = Array.from({ length: 60 }, () => readNothing(world.server, request.repeat(16)));
      const silent = await Promise.all(burst);
      await eventually('connections are closed', async () => (await cut()) > before, 60_000);
      return silent;
    });
    for (const { socket } of result) socket.destroy();
    // Answers that the system's buffers took at once leave garbage, which a busy machine collects late.
    expect(grownMiB).to.be.below(500);
  });

  it('are made one after the other on a connection, which is closed when too many requests wait', async () => {
    const request = getOf('/health/live');
    const { socket, closed } = await readNothing(world.server, request.repeat(50));
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.resume();
    await eventually('50 answers', () => text.split('HTTP/1.1 200').length === 51);
    socket.write(request.repeat(300));
    await closed;
  });

  it('affect no other caller', async () => {
    const other = await world.tenant();
    const request = getOf(`${ENTITIES}/${entity}/records?limit=200`, tenant.admin.token);
    const silent = await flood(60, request);
    expect((await other.admin.api.get(ENTITIES)).status).to.equal(200);
    for (const { socket } of silent) socket.destroy();
    const again = () => tenant.admin.api.get(`${ENTITIES}/${entity}/records?limit=5`);
    await eventually('the caller is served again', async () => (await again()).status === 200);
  });

  it('share one copy of the OpenAPI document', async () => {
    const { result, grownMiB } = await meanwhile(world.server, () => flood(600, getOf('/openapi.json')));
    for (const { socket } of result) socket.destroy();
    expect(grownMiB).to.be.below(150);
  });

  it('limit further copies for their address, but not health checks', async () => {
    // Asks for more answers than the buffers of the operating system take.
    const silent = await flood(300, getOf('/openapi.json').repeat(16));
    const ask = () => world.anybody.get('/openapi.json');
    const refused = await eventually('the document is refused', async () => {
      const answer = await ask();
      return answer.status === 503 && answer;
    });
    expect(refused.json).to.have.nested.property('details.limit', 'pending_answers');
    expect((await world.anybody.get('/health/live')).status).to.equal(200);
    for (const { socket } of silent) socket.destroy();
    await eventually('the document is served again', async () => (await ask()).status === 200);
  });
});
