import { createServer } from 'node:net';
import { expect } from 'chai';
import { severalTicks, untilPasses } from '../../support/eventually.ts';
import { listen } from '../../support/identity-provider.ts';
import { answered, CALL, call, guard, HEAD, rawServer, stopServers } from './exchange-support.ts';

after(stopServers);

describe('An exchange', () => {
  it('sends the given request and returns the answer', async () => {
    const seen: unknown[] = [];
    const { origin } = await listen((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk) => chunks.push(chunk))
        .on('end', () => {
          seen.push([request.method, request.url, request.headers, Buffer.concat(chunks).toString()]);
          response.writeHead(418, { 'Content-Type': 'text/plain', 'Retry-After': '7', 'Set-Cookie': 'a=b' });
          response.end('a teapot');
        });
    });
    const headers = {
      'Content-Type': 'application/json',
      'User-Agent': 'Service-Webhooks/1.0',
      'X-One': '1',
    };
    const answer = answered(await call(`${origin}/hook?a=b%20c#part`, { headers, body: '{"ü":1}' }));
    expect(answer).to.include({ status: 418, truncated: false });
    expect(answer.body.toString()).to.equal('a teapot');
    expect(answer.headers).to.include({ 'content-type': 'text/plain', 'retry-after': '7' });
    expect(answer.headers).not.to.have.any.keys('set-cookie', 'connection');
    const sent = {
      host: origin.slice('http://'.length),
      connection: 'close',
      'content-type': 'application/json',
      'user-agent': 'Service-Webhooks/1.0',
      'x-one': '1',
      'content-length': '8',
    };
    expect(seen).to.deep.equal([['POST', '/hook?a=b%20c', sent, '{"ü":1}']]);
  });

  it('connects to a name’s checked addresses, and sends the name', async () => {
    const hosts: (string | undefined)[] = [];
    const { origin } = await listen((request, response) => {
      hosts.push(request.headers.host);
      response.end();
    });
    const { port } = new URL(origin);
    const asked: string[] = [];
    const resolve = async (name: string) => {
      asked.push(name);
      return ['127.0.0.1'];
    };
    const http = guard({ resolve });
    for (const name of ['hooks.example', 'intranet', 'dot.example.']) {
      answered(await http.request({ ...CALL, url: `http://${name}:${port}/` }));
    }
    expect(hosts).to.deep.equal([`hooks.example:${port}`, `intranet:${port}`, `dot.example.:${port}`]);
    expect(asked, 'one look-up per call').to.deep.equal(['hooks.example', 'intranet', 'dot.example.']);
  });

  it('calls an IPv6 address', async () => {
    const { origin } = await listen((_request, response) => response.end('unused'));
    const server = createServer((socket) => socket.resume().end(`${HEAD}Content-Length: 3\r\n\r\nsix`));
    await new Promise<void>((resolve) => server.listen(Number(new URL(origin).port), '::1', resolve));
    const allowed = { allowedNetworks: ['::1/128'] };
    const { port } = new URL(origin);
    expect(answered(await call(`http://[0:0::1]:${port}/`, {}, allowed)).body.toString()).to.equal('six');
    const named = { ...allowed, resolve: async () => ['::1'] };
    expect(answered(await call(`http://hooks.example:${port}/`, {}, named)).body.toString()).to.equal('six');
    await new Promise((resolve) => server.close(resolve));
  });

  it('tries the next address when one refuses the connection', async () => {
    const { origin } = await listen((_request, response) => response.end('here'));
    const resolve = async () => ['127.0.0.9', '127.0.0.8', '127.0.0.1'];
    const answer = await call(`http://hooks.example:${new URL(origin).port}/`, {}, { resolve });
    expect(answered(answer).body.toString()).to.equal('here');
  });

  it('has its own connection, which ends with the exchange', async () => {
    const server = await rawServer((socket) =>
      socket.write(`${HEAD}Connection: keep-alive\r\nKeep-Alive: timeout=600\r\nContent-Length: 2\r\n\r\nok`),
    );
    const http = guard();
    for (let round = 1; round <= 3; round += 1) {
      expect(answered(await http.request({ ...CALL, url: server.origin })).body.toString()).to.equal('ok');
      await untilPasses(() => expect(server.sockets.size).to.equal(0));
      expect(server.heard).to.have.lengthOf(round);
    }
  });

  it('sets the headers of the connection itself, and ignores such headers of the caller', async () => {
    const server = await rawServer(`${HEAD}Content-Length: 0\r\n\r\n`);
    const headers = {
      ...{
        Host: 'other.example',
        'Content-Length': '9999',
        'Transfer-Encoding': 'chunked',
        Connection: 'upgrade',
      },
      ...{ Upgrade: 'websocket', Expect: '100-continue', 'Keep-Alive': '1', TE: 'trailers', 'X-Kept': 'yes' },
    };
    answered(await call(server.origin, { headers }));
    const [said = ''] = server.heard;
    expect(said.toLowerCase()).to.match(
      /^post \/ http\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\nconnection: close\r\n/,
    );
    expect(said.toLowerCase()).not.to.match(/other\.example|9999|chunked|upgrade|expect|keep-alive|\nte:/);
    expect(said).to.include('X-Kept: yes');
  });

  it('refuses a header that would become two', async () => {
    const server = await rawServer(`${HEAD}\r\n`);
    const answer = await call(server.origin, { headers: { 'X-One': 'a\r\nX-Two: b' } });
    expect(answer).to.include({ kind: 'failed', reason: 'protocol' });
    expect(server.heard).to.deep.equal([]);
  });

  it('follows no redirect', async () => {
    let visits = 0;
    const inner = await listen((_request, response) => {
      visits += 1;
      response.end('internal');
    });
    const outer = await listen((request, response) => {
      const status = Number(request.url?.slice(1));
      response.writeHead(status, { location: `${inner.origin}/`, refresh: `0; url=${inner.origin}` }).end();
    });
    for (const status of [300, 301, 302, 303, 305, 307, 308]) {
      for (const method of ['GET', 'POST'] as const) {
        const own = method === 'GET' ? { method, body: undefined } : { method };
        const answer = answered(await call(`${outer.origin}/${status}`, own));
        expect(answer.status).to.equal(status);
        expect(answer.headers).not.to.have.property('location');
      }
    }
    await severalTicks();
    expect(visits).to.equal(0);
  });

  it('accepts an answer without a body, and an answer after an informational answer', async () => {
    const server = await rawServer('HTTP/1.1 204 No Content\r\n\r\n');
    expect(answered(await call(server.origin))).to.include({ status: 204, truncated: false });
    const hints = await rawServer(
      `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${HEAD}Content-Length: 1\r\n\r\nx`,
    );
    expect(answered(await call(hints.origin)).status).to.equal(200);
    const head = await rawServer(`${HEAD}Content-Length: 5000\r\n\r\n`);
    expect(answered(await call(head.origin, { method: 'HEAD', body: undefined })).body).to.have.lengthOf(0);
  });
});

describe('The error of an exchange', () => {
  it('names neither the URL nor the server', async () => {
    const rude = await rawServer(`internal-secret ${'x'.repeat(3_000)}\r\n\r\n`);
    const gone = await listen(() => undefined);
    await gone.stop();
    const told = [
      await call(`${rude.origin}/path-secret?token=query-secret`),
      await call(`${gone.origin}/path-secret?token=query-secret`),
      await call('https://user:url-secret@hooks.example/?token=query-secret'),
      await call('https://hooks.example/?token=query-secret', {}, { resolve: async () => ['10.9.8.7'] }),
      await call('https://db-secret.example/?token=query-secret', {}, { resolve: async () => [] }),
      await call('https://db-secret/?query-secret', {}, { allowedNetworks: [] }),
      await call('https://8.8.8.8:6379/?query-secret', {}, { allowedNetworks: [] }),
      await call('nonsense query-secret'),
    ];
    for (const answer of told) {
      expect(answer.kind).not.to.equal('answered');
      expect(JSON.stringify(answer)).not.to.match(/secret|10\.9\.8|127\.0\.0/);
      if (answer.kind !== 'answered') expect(answer.message).to.match(/^[A-Z].{10,500}\.$/);
    }
  });
});
