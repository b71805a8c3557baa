import { createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { guardedHttp } from '../../../infrastructure/http/guarded-http.ts';
import { type Authority, makeAuthority } from '../../support/certificates.ts';
import { untilPasses } from '../../support/eventually.ts';

describe('A TLS exchange', () => {
  const CALL = { method: 'POST', headers: {}, body: 'x', timeoutMs: 5_000, maxResponseBytes: 100 } as const;
  const authority: Authority = makeAuthority('An authority of the tests');
  const stranger: Authority = makeAuthority('Another authority');
  const servers: Server[] = [];
  const sockets = new Set<Socket>();

  const opened = async (server: Server): Promise<number> => {
    servers.push(server);
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const found = server.address();
    if (found === null || typeof found === 'string') throw new Error('no port');
    return found.port;
  };

  const heard: string[] = [];
  const names: unknown[] = [];
  const start = (certificate: { key: string; cert: string }, own: object = {}) =>
    opened(
      createServer({ ...certificate, ...own }, (socket: TLSSocket & { servername?: unknown }) => {
        names.push(socket.servername);
        socket
          .on('error', () => undefined)
          .once('data', (chunk) => {
            heard.push(chunk.toString());
            socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
          });
      }).on('tlsClientError', () => undefined),
    );

  const call = (host: string, port: number, own: object = {}) =>
    guardedHttp({
      allowedNetworks: ['127.0.0.0/8'],
      allowHttp: false,
      authorities: [authority.certificate],
      resolve: async () => ['127.0.0.1'],
    }).request({ ...CALL, url: `https://${host}:${port}/hook`, ...own });

  beforeEach(() => {
    heard.length = 0;
    names.length = 0;
  });

  after(async () => {
    for (const socket of sockets) socket.destroy();
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  });

  it('sends the host name by SNI and as Host, and checks the certificate for it', async () => {
    const port = await start(authority.issue(['hooks.example', 'other.example']));
    for (const host of ['hooks.example', 'other.example', 'HOOKS.example', 'hooks.example.']) {
      expect(await call(host, port), host).to.deep.include({ kind: 'answered', status: 200 });
    }
    expect(names).to.deep.equal(['hooks.example', 'other.example', 'hooks.example', 'hooks.example']);
    expect(heard[0]).to.match(new RegExp(`^POST /hook HTTP/1\\.1\r\nhost: hooks\\.example:${port}\r\n`, 'i'));
  });

  it('accepts a certificate for an address', async () => {
    const port = await start(authority.issue(['127.0.0.1']));
    expect(await call('127.0.0.1', port)).to.include({ kind: 'answered', status: 200 });
    expect(await call('hooks.example', port)).to.include({ kind: 'failed', reason: 'tls' });
  });

  it('sends nothing to a server without a valid certificate', async () => {
    const named = ['hooks.example', '127.0.0.1'];
    for (const [what, certificate] of [
      ['another name', authority.issue(['else.example'])],
      ['another authority', stranger.issue(named)],
      ['expired', authority.issue(named, Date.now() - 3_600_000)],
    ] as const) {
      const port = await start(certificate);
      for (const host of named) {
        const answer = await call(host, port);
        expect(answer, what).to.include({ kind: 'failed', reason: 'tls' });
        expect(JSON.stringify(answer), what).not.to.match(/example|127/);
      }
    }
    expect(heard).to.deep.equal([]);
  });

  it('trusts only Node’s authorities by default', async () => {
    const port = await start(authority.issue(['127.0.0.1']));
    const http = guardedHttp({ allowedNetworks: ['127.0.0.0/8'], allowHttp: true });
    const answer = await http.request({ ...CALL, url: `https://127.0.0.1:${port}/` });
    expect(answer).to.include({ kind: 'failed', reason: 'tls' });
    expect(heard).to.deep.equal([]);
  });

  it('refuses old versions of TLS', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    const port = await start(authority.issue(['hooks.example']), old);
    expect(await call('hooks.example', port)).to.include({ kind: 'failed', reason: 'tls' });
  });

  it('fails with a server that does not speak TLS', async () => {
    const plain = await opened(createPlainServer((socket) => socket.resume().end('HTTP/1.1 200 OK\r\n\r\n')));
    expect(await call('hooks.example', plain)).to.include({ kind: 'failed', reason: 'tls' });
    const closing = await opened(createPlainServer((socket) => socket.destroy()));
    expect((await call('hooks.example', closing)).kind).to.equal('failed');
  });

  it('times out when the server does not complete the handshake', async () => {
    const silent = await opened(createPlainServer((socket) => socket.resume()));
    const answer = await call('hooks.example', silent, { timeoutMs: 100 });
    expect(answer).to.include({ kind: 'failed', reason: 'timeout' });
    await untilPasses(() => expect(sockets.size, 'the connection is closed').to.equal(0));
  });
});
