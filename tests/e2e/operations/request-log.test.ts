import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/server.ts';
import { forSuite } from '../../support/suite.ts';
import { startWorld } from '../../support/world.ts';

const line = z.looseObject({ level: z.string(), msg: z.string(), request_id: z.string().optional() });
const linesOf = (output: string) =>
  output
    .split('\n')
    .filter((text) => text.startsWith('{'))
    .map((text) => line.parse(JSON.parse(text)));

describe('The log of a server', () => {
  const suite = forSuite(async () => {
    const world = await startWorld({ env: { LOG_LEVEL: 'info', RATE_LIMIT_PER_MINUT: '5' } });
    return { world, tenant: await world.tenant() };
  });

  const requestOf = (id: string) =>
    eventually('the line of the request', () =>
      linesOf(suite().world.server.output()).find(
        ({ request_id, msg }) => request_id === id && msg === 'request',
      ),
    );

  it('has one line for a request: pattern, caller and tenant, and no id, query or credential', async () => {
    const { world, tenant } = suite();
    const headers = { 'x-request-id': 'one-line' };
    const path = '/api/v1/tenant/messaging/conversations/0199-secret-id/messages?token=svc_query_secret';
    await tenant.admin.api.get(path, { headers });
    const { ms, time, ...rest } = await requestOf('one-line');
    expect(ms).to.be.a('number');
    expect(time).to.be.a('string');
    expect(rest).to.deep.equal({
      level: 'info',
      request_id: 'one-line',
      method: 'GET',
      route: '/api/v1/tenant/messaging/conversations/:id/messages',
      status: 400,
      caller: 'user',
      tenant: tenant.id,
      msg: 'request',
    });
    const output = world.server.output();
    expect(output.split('"request_id":"one-line"')).to.have.length(2);
    expect(output)
      .not.to.contain('secret-id')
      .and.not.to.contain('svc_query')
      .and.not.to.contain(tenant.admin.token);
  });

  it('names callers without a credential, and routes that do not exist', async () => {
    await suite().world.anybody.get('/no/such/thing', { headers: { 'x-request-id': 'nobody' } });
    expect(await requestOf('nobody')).to.include({ caller: 'anybody', route: 'unmatched', status: 404 });
  });

  it('warns of a variable whose name is nearly right, without its value', () => {
    const warned = linesOf(suite().world.server.output()).find(({ variable }) => variable !== undefined);
    expect(warned).to.include({
      level: 'warn',
      variable: 'RATE_LIMIT_PER_MINUT',
      meant: 'RATE_LIMIT_PER_MINUTE',
    });
  });

  it('ends with a line with the duration of the stop and the work that was left', async () => {
    const { server } = suite().world;
    await server.stop();
    const last = linesOf(server.output()).at(-1);
    expect(last).to.include({ msg: 'stopped', reason: 'SIGTERM', cut_connections: 0, unfinished_work: 0 });
    expect(last?.ms).to.be.a('number').and.to.be.lessThan(10_000);
  });
});
