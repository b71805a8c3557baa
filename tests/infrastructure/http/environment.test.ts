import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { makeAuthority } from '../../support/certificates.ts';
import { listen, stopProviders } from '../../support/identity-provider.ts';

const GUARD = new URL('../../../infrastructure/http/guarded-http.ts', import.meta.url).href;

/** A call by a process with its own variables. */
const callWith = async (url: string, variables: Readonly<Record<string, string>>): Promise<unknown> => {
  const script = `
    const { guardedHttp } = await import(${JSON.stringify(GUARD)});
    const http = guardedHttp({ allowedNetworks: ['127.0.0.0/8'], allowHttp: true });
    const call = { method: 'GET', headers: {}, timeoutMs: 5000, maxResponseBytes: 100 };
    const answer = await http.request({ ...call, url: ${JSON.stringify(url)} });
    console.log(JSON.stringify(answer.kind === 'answered' ? answer.body.toString() : answer));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--no-warnings', '--eval', script],
    { env: { ...process.env, ...variables } },
  );
  return JSON.parse(stdout);
};

describe('The environment of a guarded call', () => {
  after(stopProviders);

  it('cannot set proxies', async () => {
    let visits = 0;
    const proxy = createServer((socket) => {
      visits += 1;
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const found = proxy.address();
    if (found === null || typeof found === 'string') throw new Error('no port');
    const proxied = `http://127.0.0.1:${found.port}`;
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];
    const variables = Object.fromEntries(names.map((name) => [name, proxied]));
    const { origin } = await listen((_request, response) => response.end('direct'));
    const settings = { ...variables, NODE_USE_ENV_PROXY: '1', NO_PROXY: '', no_proxy: '' };
    expect(await callWith(origin, settings)).to.equal('direct');
    expect(visits).to.equal(0);
    await new Promise((resolve) => proxy.close(resolve));
  });

  it('cannot disable the check of certificates', async () => {
    const { createServer: createTlsServer } = await import('node:tls');
    const server = createTlsServer(makeAuthority('Nobody').issue(['127.0.0.1']), (socket) =>
      socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\n\r\n'),
    );
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const found = server.address();
    if (found === null || typeof found === 'string') throw new Error('no port');
    const answer = await callWith(`https://127.0.0.1:${found.port}/`, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
    expect(answer).to.include({ kind: 'failed', reason: 'tls' });
    await new Promise((resolve) => server.close(resolve));
  });
});
