import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import type { SocketServerDeps } from '../../../api/ws/socket-server.ts';
import { systemClock } from '../../../infrastructure/identity/ids.ts';
import { gate } from '../../support/eventually.ts';
import { memoryStores } from '../../support/node.ts';
import { listen, open, refusal } from '../../support/socket.ts';
import { principalOf, startSocketNode } from '../../support/socket-node.ts';

describe('A handshake', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  const begin = async (
    authenticate: SocketServerDeps['authentication']['authenticate'] = async (token) => principalOf(token),
  ) => {
    const expiryOf = () => systemClock.now() + 3_600_000;
    const here = await startSocketNode(memoryStores(), { authentication: { authenticate, expiryOf } });
    ends.push(here.end);
    return { here, token: here.token('acme', 'bob') };
  };

  it('is refused with 503 when the server begins to stop meanwhile', async () => {
    const asked = gate();
    const answer = gate();
    const { here, token } = await begin(async (given) => {
      asked.open();
      await answer.passed;
      return principalOf(given);
    });
    const refused = refusal(here.server, token);
    await asked.passed;
    here.close();
    answer.open();
    expect(await refused).to.include({ status: 503, error: 'unavailable' });
  });

  it('that waits for a store is refused with 503 at once when the server stops', async () => {
    const asked = gate();
    const { here, token } = await begin(() => {
      asked.open();
      return new Promise(() => undefined);
    });
    const refused = refusal(here.server, token);
    await asked.passed;
    here.close();
    expect(await refused).to.include({ status: 503, error: 'unavailable' });
    expect(await refusal(here.server, token)).to.include({ status: 503, error: 'unavailable' });
  });

  it('is logged when the server cannot complete it', async () => {
    const { here, token } = await begin(async () => {
      throw new TypeError('a fault');
    });
    expect(await refusal(here.server, token)).to.include({ status: 500, error: 'internal_error' });
    expect(here.node.logger.lines.map(({ level }) => level)).to.deep.equal(['error']);
  });

  it('may name the tenant of its credential in the query, and no other', async () => {
    const { here, token } = await begin();
    for (const tenant_id of ['other', ['acme', 'other']]) {
      const refused = await refusal(here.server, token, { query: { tenant_id } });
      expect(refused).to.include({ status: 403, error: 'tenant_mismatch' });
    }
    (await listen(here.server, token, { query: { tenant_id: 'acme' } })).close();
  });

  it('is refused with its own X-Request-Id', async () => {
    const { here, token } = await begin();
    for (const [given, answered] of [
      ['mine.1', /^mine\.1$/],
      ['not valid', /^[0-9a-f-]{36}$/],
    ] as const) {
      const raw = open(here.server, token, { after: 'x', headers: { 'x-request-id': given } });
      raw.on('error', () => undefined);
      const [, response]: [unknown, IncomingMessage] = (await once(raw, 'unexpected-response')) as never;
      expect(response.statusCode).to.equal(400);
      expect(response.headers['x-request-id']).to.match(answered);
      response.resume();
    }
  });
});
