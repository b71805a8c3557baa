import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { expect } from 'chai';
import { z } from 'zod';
import { ExpensiveRequests } from '../../../api/http/expensive-requests.ts';
import { route } from '../../../api/http/route.ts';
import { nodeTimers, useTimers } from '../../../application/core/runtime/timers.ts';
import { eventually } from '../../support/server.ts';
import { admin, serve, type TestServer } from './support.ts';

const REPORT = '/api/v1/report';

describe('Expensive requests', () => {
  let server: TestServer;
  /** Ends the running handlers, in order of their start. */
  let running: (() => void)[] = [];
  let started = 0;
  const report = route({
    method: 'get',
    path: REPORT,
    operationId: 'makeReport',
    expensive: true,
    summary: 'Takes until it is released',
    description: 'A route of the tests.',
    tag: 'Reports',
    access: { kind: 'principals', kinds: ['user'] },
    responses: { 200: z.object({}) },
    handle: async () => {
      started += 1;
      await new Promise<void>((resolve) => running.push(resolve));
      return { status: 200, body: {} };
    },
  });
  const begin = async (waitMs?: number): Promise<void> => {
    running = [];
    started = 0;
    server = await serve([report], { expensive: new ExpensiveRequests(waitMs) });
  };
  afterEach(async () => {
    for (const end of running.splice(0)) end();
    await server.close();
  });

  const ask = (as: string) => server.request('GET', REPORT, { as });
  const untilStarted = (count: number) => eventually(`${count} handlers run`, () => started === count);

  it('of a tenant run two at a time; further ones wait for a slot, without delaying another tenant', async () => {
    await begin();
    const own = ['admin', 'admin', 'admin', 'operator'].map(ask);
    await untilStarted(2);
    const other = ask('other');
    await untilStarted(3);
    running[2]?.();
    expect((await other).status).to.equal(200);
    running[0]?.();
    await untilStarted(4);
    for (const end of running) end();
    await untilStarted(5);
    running[4]?.();
    expect((await Promise.all(own)).map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
  });

  it('that wait for too long are answered 429, and leave the queue', async () => {
    await begin(30);
    const own = [ask('admin'), ask('admin')];
    await untilStarted(2);
    const refused = await ask('admin');
    expect([refused.status, refused.json.error]).to.deep.equal([429, 'rate_limited']);
    expect(refused.json.details).to.include({ limit: 'expensive_requests' });
    expect(Number(refused.headers.get('retry-after'))).to.be.at.least(1);
    for (const end of running) end();
    await Promise.all(own);
    const next = [ask('admin'), ask('admin')];
    await untilStarted(4);
    for (const end of running) end();
    await Promise.all(next);
  });

  it('whose body arrives too slowly are refused, and give their slot back', async () => {
    const late: (() => void)[] = [];
    const restore = useTimers({
      ...nodeTimers,
      setTimeout: (run, ms) => {
        if (ms !== 11_000) return nodeTimers.setTimeout(run, ms);
        late.push(run);
        return nodeTimers.setTimeout(() => undefined, 0);
      },
    });
    const sockets: Socket[] = [];
    try {
      await begin();
      const head = `GET ${REPORT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n`;
      const body = 'Content-Type: application/json\r\nContent-Length: 131000\r\n\r\n{';
      const answers = ['', ''];
      for (const nth of answers.keys()) {
        const socket = connect(server.port, '127.0.0.1', () => socket.write(head + body));
        sockets.push(socket);
        socket.on('data', (chunk) => {
          answers[nth] += String(chunk);
        });
      }
      await eventually('two slow requests hold the slots', () => late.length === 2);
      const next = ask('admin');
      for (const run of late) run();
      await untilStarted(1);
      running[0]?.();
      expect((await next).status).to.equal(200);
      await eventually('both are refused', () =>
        answers.every((answer) => answer.startsWith('HTTP/1.1 400') && answer.includes('"too_slow"')),
      );
    } finally {
      restore();
      for (const socket of sockets) socket.destroy();
    }
  });

  it('of a client that disconnects while it waits leave the queue', async () => {
    const requests = new ExpensiveRequests();
    const responses = Array.from({ length: 4 }, () => new ServerResponse(new IncomingMessage(new Socket())));
    const [first, , gone, last] = responses;
    const begun = responses.map((response) =>
      requests.begin(admin, response).then(
        () => 'begun',
        () => 'refused',
      ),
    );
    expect(await Promise.all(begun.slice(0, 2))).to.deep.equal(['begun', 'begun']);
    gone?.emit('close');
    expect(await begun[2]).to.equal('refused');
    first?.emit('close');
    expect(await begun[3]).to.equal('begun');
    last?.emit('close');
  });

  it('start in a later tick, after all requests that arrived before them', async () => {
    const order: string[] = [];
    setImmediate(() => order.push('others'));
    await new ExpensiveRequests().begin(admin, new ServerResponse(new IncomingMessage(new Socket())));
    order.push('expensive');
    expect(order).to.deep.equal(['others', 'expensive']);
  });
});
