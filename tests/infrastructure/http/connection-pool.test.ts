import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect } from 'chai';
import type { OutboundAnswer, OutboundRequest } from '../../../application/ports/outbound-http.ts';
import { Connection } from '../../../infrastructure/http/connection.ts';
import { ConnectionPool } from '../../../infrastructure/http/connection-pool.ts';
import { type GuardOptions, guardedHttp } from '../../../infrastructure/http/guarded-http.ts';
import { type Authority, makeAuthority } from '../../support/certificates.ts';
import { severalTicks, untilPasses } from '../../support/eventually.ts';

const CALL = {
  method: 'POST',
  headers: {},
  body: 'body',
  timeoutMs: 5_000,
  maxResponseBytes: 1_000,
  reuse: 'acme/hook',
} as const;

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** The server's answer to the nth request in total, and the nth on its connection, both from 1. */
type Says = (nth: number, onConnection: number, socket: Socket) => string | undefined;

describe('Kept connections', () => {
  const servers: Server[] = [];
  const authority: Authority = makeAuthority('An authority of the tests');

  afterEach(async () => {
    for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  });

  /** A server that counts connections and requests; it takes each chunk for one request. */
  const receiver = async (says: Says = () => OK, { host = '127.0.0.1', port = 0, tls = false } = {}) => {
    const sockets = new Set<Socket>();
    const heard: string[] = [];
    const seen = { connections: 0 };
    const take = (socket: Socket): void => {
      seen.connections += 1;
      sockets.add(socket);
      let own = 0;
      socket
        .on('error', () => undefined)
        .on('close', () => sockets.delete(socket))
        .on('data', (chunk) => {
          heard.push(chunk.toString());
          own += 1;
          const said = says(heard.length, own, socket);
          if (said !== undefined) socket.write(said);
        });
    };
    const server = tls ? createTlsServer(authority.issue(['hooks.example']), take) : createServer(take);
    await new Promise<void>((resolve) => server.listen(port, host, resolve));
    servers.push(server);
    const found = server.address();
    if (found === null || typeof found === 'string') throw new Error('no port');
    const closed = () => untilPasses(() => expect(sockets.size, 'connections are closed').to.equal(0));
    return { origin: `http://${host}:${found.port}`, port: found.port, sockets, heard, seen, closed };
  };

  const guard = (own: Partial<GuardOptions> = {}) =>
    guardedHttp({
      allowedNetworks: ['127.0.0.0/8'],
      allowHttp: true,
      authorities: [authority.certificate],
      ...own,
    });

  const statusOf = (answer: OutboundAnswer): number | string =>
    answer.kind === 'answered' ? answer.status : `${answer.kind} ${answer.reason}`;

  for (const tls of [false, true]) {
    it(`carry one exchange after another, by ${tls ? 'TLS' : 'plain HTTP'}`, async () => {
      const { port, heard, seen, sockets } = await receiver(() => OK, { tls });
      const http = guard({ resolve: async () => ['127.0.0.1'] });
      const url = `${tls ? 'https' : 'http'}://hooks.example:${port}`;
      for (let nth = 1; nth <= 5; nth += 1) {
        const answer = await http.request({ ...CALL, url: `${url}/${nth}`, headers: { 'X-Nth': `${nth}` } });
        expect(statusOf(answer)).to.equal(200);
      }
      expect(seen.connections).to.equal(1);
      expect(heard).to.have.lengthOf(5);
      expect(heard[4])
        .to.match(/^POST \/5 /)
        .and.include('X-Nth: 5');
      for (const socket of sockets) socket.destroy();
    });
  }

  it('are separated by origin and key', async () => {
    const one = await receiver();
    const two = await receiver();
    const http = guard();
    const call = (url: string, own: Partial<OutboundRequest> = {}) => http.request({ ...CALL, url, ...own });
    await call(one.origin);
    await call(one.origin, { reuse: 'acme/other' });
    await call(one.origin, { reuse: 'globex/hook' });
    expect(one.seen.connections).to.equal(3);
    await call(two.origin);
    expect(two.seen.connections).to.equal(1);
    await call(one.origin, { reuse: undefined });
    await call(one.origin, { reuse: undefined });
    expect(one.seen.connections).to.equal(5);
    await call(one.origin);
    expect(one.seen.connections, 'it is there still').to.equal(5);
    for (const { sockets } of [one, two]) for (const socket of sockets) socket.destroy();
  });

  it('are used only for an address checked for that call', async () => {
    const old = await receiver();
    const moved = await receiver(() => OK, { host: '127.0.0.2', port: old.port });
    let addresses = ['127.0.0.1'];
    let asked = 0;
    const http = guard({
      resolve: async () => {
        asked += 1;
        return addresses;
      },
    });
    const call = async () =>
      statusOf(await http.request({ ...CALL, url: `http://hooks.example:${old.port}` }));
    expect(await call()).to.equal(200);
    addresses = ['127.0.0.9', '127.0.0.1'];
    expect(await call(), 'one of those that are good').to.equal(200);
    expect([old.seen.connections, old.heard.length]).to.deep.equal([1, 2]);
    addresses = ['127.0.0.2'];
    expect(await call()).to.equal(200);
    expect([old.heard.length, moved.heard.length]).to.deep.equal([2, 1]);
    await old.closed();
    addresses = ['127.0.0.2', '10.0.0.1'];
    expect(await call(), 'one is refused').to.equal('refused resolved_address');
    expect(moved.heard).to.have.lengthOf(1);
    expect(asked, 'asked at each call').to.equal(4);
    for (const socket of moved.sockets) socket.destroy();
  });

  for (const [what, said] of [
    ['a redirect', 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n'],
    ['an error', 'HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n'],
    ['a longer answer than allowed', `HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n${'x'.repeat(2_000)}`],
    ['an answer that asks for it', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'],
    ['an answer of the old protocol', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    ['two answers to one request', `${OK}${OK}`],
  ] as const) {
    it(`end with ${what}`, async () => {
      const server = await receiver((nth) => (nth === 1 ? said : OK));
      const http = guard();
      await http.request({ ...CALL, url: server.origin });
      await server.closed();
      expect(statusOf(await http.request({ ...CALL, url: server.origin }))).to.equal(200);
      expect([server.seen.connections, server.heard.length]).to.deep.equal([2, 2]);
      for (const socket of server.sockets) socket.destroy();
    });
  }

  it('end with an exchange that times out or is aborted', async () => {
    const server = await receiver((_nth, onConnection) => (onConnection === 1 ? OK : undefined));
    const http = guard();
    await http.request({ ...CALL, url: server.origin });
    const late = await http.request({ ...CALL, url: server.origin, timeoutMs: 100 });
    expect(statusOf(late)).to.equal('failed timeout');
    await server.closed();
    await http.request({ ...CALL, url: server.origin });
    const stop = new AbortController();
    const waiting = http
      .request({ ...CALL, url: server.origin }, stop.signal)
      .catch((error: unknown) => error);
    await untilPasses(() => expect(server.heard).to.have.lengthOf(4));
    stop.abort('enough');
    expect(await waiting).to.equal('enough');
    await server.closed();
    expect(server.heard, 'neither was sent again').to.have.lengthOf(4);
  });

  for (const [how, end] of [
    ['closed', (socket: Socket) => void socket.end()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ] as const) {
    it(`that the server has silently ${how} are replaced, with the same bytes`, async () => {
      const server = await receiver((_nth, onConnection, socket) => {
        if (onConnection === 1) return OK;
        end(socket);
        return undefined;
      });
      const http = guard();
      for (let nth = 1; nth <= 3; nth += 1) {
        const call = { ...CALL, url: server.origin, headers: { 'X-Nth': `${nth}` } };
        expect(statusOf(await http.request(call))).to.equal(200);
      }
      expect(server.seen.connections).to.equal(3);
      const nths = server.heard.map((said) => /X-Nth: (\d)/.exec(said)?.[1]);
      expect(nths, 'sent once more, and not again').to.deep.equal(['1', '2', '2', '3', '3']);
      expect(server.heard[2]).to.equal(server.heard[1]);
      for (const socket of server.sockets) socket.destroy();
    });
  }

  it('by TLS that the server has silently closed are replaced', async () => {
    const server = await receiver(
      (_nth, onConnection, socket) => {
        if (onConnection === 1) return OK;
        socket.end();
        return undefined;
      },
      { tls: true },
    );
    const http = guard({ resolve: async () => ['127.0.0.1'] });
    const url = `https://hooks.example:${server.port}`;
    for (let nth = 1; nth <= 2; nth += 1) {
      expect(statusOf(await http.request({ ...CALL, url }))).to.equal(200);
    }
    expect([server.seen.connections, server.heard.length]).to.deep.equal([2, 3]);
    for (const socket of server.sockets) socket.destroy();
  });

  it('that break after the start of an answer are not replaced', async () => {
    const server = await receiver((_nth, onConnection, socket) => {
      if (onConnection === 1) return OK;
      socket.end('HTTP/1.1 20');
      return undefined;
    });
    const http = guard();
    await http.request({ ...CALL, url: server.origin });
    expect((await http.request({ ...CALL, url: server.origin })).kind).to.equal('failed');
    await severalTicks();
    expect([server.seen.connections, server.heard.length]).to.deep.equal([1, 2]);
  });

  it('are replaced once: a second silence is a failure', async () => {
    const server = await receiver((nth, _onConnection, socket) => {
      if (nth === 1) return OK;
      socket.destroy();
      return undefined;
    });
    const http = guard();
    await http.request({ ...CALL, url: server.origin });
    expect(statusOf(await http.request({ ...CALL, url: server.origin }))).to.equal('failed connection');
    await severalTicks();
    expect([server.seen.connections, server.heard.length]).to.deep.equal([2, 3]);
  });

  it('are limited to four per key', async () => {
    const waiting: Socket[] = [];
    const server = await receiver((_nth, _onConnection, socket) => {
      waiting.push(socket);
      return undefined;
    });
    const http = guard();
    const calls = Array.from({ length: 7 }, () => http.request({ ...CALL, url: server.origin }));
    await untilPasses(() => expect(waiting).to.have.lengthOf(7));
    for (const socket of waiting) socket.write(OK);
    await Promise.all(calls);
    await untilPasses(() => expect(server.sockets.size).to.equal(4));
    for (const socket of server.sockets) socket.destroy();
  });

  it('are kept only while they are among the most recently used, and not too old', async () => {
    const server = await receiver();
    const opened = async () => {
      const socket = connect(server.port, '127.0.0.1');
      await once(socket, 'connect');
      return new Connection(socket, server.origin);
    };
    const few = new ConnectionPool({ perKey: 4, total: 3, maxAgeMs: 60_000 });
    for (const key of ['a', 'b', 'b', 'c']) few.put(key, await opened());
    expect(few.size).to.equal(3);
    const good = ['127.0.0.1'];
    expect(few.take('a', good)).to.equal(undefined);
    const taken = [few.take('b', good), few.take('b', good), few.take('c', good)];
    expect(taken.map((one) => one?.isOpen)).to.deep.equal([true, true, true]);
    expect([few.take('b', good), few.size]).to.deep.equal([undefined, 0]);
    for (const one of taken) one?.close();
    const old = new ConnectionPool({ perKey: 4, total: 3, maxAgeMs: 0 });
    old.put('a', await opened());
    expect(old.take('a', good)).to.equal(undefined);
    await server.closed();
  });

  it('close after a few seconds, or earlier when the server asks for it', async function () {
    this.timeout(60_000);
    const server = await receiver();
    const short = await receiver(
      () => 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok',
    );
    const http = guard();
    await http.request({ ...CALL, url: server.origin });
    await http.request({ ...CALL, url: short.origin });
    await short.closed();
    await server.closed();
  });
});
