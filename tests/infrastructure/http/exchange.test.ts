import { createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { OutboundAnswer, OutboundRequest } from '../../../application/ports/outbound-http.ts';
import { addressesOfMachine } from '../../../infrastructure/http/addresses.ts';
import { type GuardOptions, guardedHttp } from '../../../infrastructure/http/guarded-http.ts';
import { isPinned, openPinned } from '../../../infrastructure/http/pinned-socket.ts';
import { eventually, rejection, severalTurns } from '../../support/eventually.ts';
import { listen, stopProviders } from '../../support/identity-provider.ts';

/** Calls to servers on this machine, by plain http, which are allowed here. */
const guard = (own: Partial<GuardOptions> = {}) =>
  guardedHttp({ allowedNetworks: ['127.0.0.0/8'], allowHttp: true, ...own });

const CALL = {
  method: 'POST',
  headers: {},
  body: 'body',
  timeoutMs: 5_000,
  maxResponseBytes: 1_000,
} as const;

const call = (url: string, own: Partial<OutboundRequest> = {}, options: Partial<GuardOptions> = {}) =>
  guard(options).request({ ...CALL, url, ...own });

const answered = (answer: OutboundAnswer) => {
  if (answer.kind !== 'answered') throw new Error(`${answer.kind}: ${answer.reason} ${answer.message}`);
  return answer;
};

const stops: (() => Promise<void>)[] = [];

/** A server that says these bytes, or does this, once something has come. */
const rawServer = async (act: string | ((socket: Socket) => void)) => {
  const sockets = new Set<Socket>();
  const heard: string[] = [];
  const seen = { connections: 0 };
  const server = createServer((socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.once('data', (chunk) => {
      heard.push(chunk.toString());
      if (typeof act === 'string') socket.end(act);
      else act(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const found = server.address();
  if (found === null || typeof found === 'string') throw new Error('no port');
  return { origin: `http://127.0.0.1:${found.port}`, port: found.port, sockets, heard, seen };
};

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';

after(async () => {
  await stopProviders();
  await Promise.all(stops.map((stop) => stop()));
});

describe('an exchange', () => {
  it('sends what it was given and answers with what came', async () => {
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

  it('calls a name by the addresses that were judged, and says the name', async () => {
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

  it('goes on to the next address when one does not take the connection', async () => {
    const { origin } = await listen((_request, response) => response.end('here'));
    const resolve = async () => ['127.0.0.9', '127.0.0.8', '127.0.0.1'];
    const answer = await call(`http://hooks.example:${new URL(origin).port}/`, {}, { resolve });
    expect(answered(answer).body.toString()).to.equal('here');
  });

  it('has a connection of its own, which ends with it', async () => {
    const server = await rawServer((socket) =>
      socket.write(`${HEAD}Connection: keep-alive\r\nKeep-Alive: timeout=600\r\nContent-Length: 2\r\n\r\nok`),
    );
    const http = guard();
    for (let round = 1; round <= 3; round += 1) {
      expect(answered(await http.request({ ...CALL, url: server.origin })).body.toString()).to.equal('ok');
      await eventually(() => expect(server.sockets.size).to.equal(0));
      expect(server.heard).to.have.lengthOf(round);
    }
  });

  it('keeps its own headers from the caller', async () => {
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

  it('sends nothing with a header that would become two', async () => {
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
    await severalTurns();
    expect(visits).to.equal(0);
  });

  it('takes an answer without a body, and one after an informational one', async () => {
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

describe('an answer', () => {
  it('is read up to the limit and no further', async () => {
    const { origin } = await listen((request, response) =>
      response.end('x'.repeat(Number(request.url?.slice(1)))),
    );
    for (const [size, length, truncated] of [
      [0, 0, false],
      [999, 999, false],
      [1_000, 1_000, false],
      [1_001, 1_000, true],
      [5_000_000, 1_000, true],
    ] as const) {
      const answer = answered(await call(`${origin}/${size}`));
      expect({ length: answer.body.length, truncated: answer.truncated }).to.deep.equal({
        length,
        truncated,
      });
    }
    expect(answered(await call(`${origin}/1`, { maxResponseBytes: 0 }))).to.include({ truncated: true });
  });

  it('may never end', async () => {
    let written = 0;
    const server = await rawServer((socket) => {
      socket.write(`${HEAD}\r\n`);
      const more = (): void => {
        if (socket.destroyed) return;
        written += 65_536;
        if (socket.write(Buffer.alloc(65_536))) setImmediate(more);
        else socket.once('drain', more);
      };
      more();
    });
    const answer = answered(await call(server.origin, { maxResponseBytes: 16_384 }));
    expect(answer).to.include({ status: 200, truncated: true });
    expect(answer.body).to.have.lengthOf(16_384);
    await eventually(() => expect(server.sockets.size, 'the connection is closed').to.equal(0));
    expect(written, 'the rest was not taken').to.be.lessThan(20_000_000);
  });

  it('is never unpacked', async () => {
    const packed = gzipSync(Buffer.alloc(50_000_000));
    const { origin } = await listen((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed);
    });
    const cut = answered(await call(origin, { maxResponseBytes: 16_384 }));
    expect(cut.truncated).to.equal(true);
    expect(cut.body.equals(packed.subarray(0, 16_384))).to.equal(true);
    const whole = answered(await call(origin, { maxResponseBytes: 1_000_000 }));
    expect(whole.truncated).to.equal(false);
    expect(gunzipSync(whole.body)).to.have.lengthOf(50_000_000);
  });

  it('that breaks off is what came of it', async () => {
    const broken = await rawServer(`${HEAD}Content-Length: 100\r\n\r\npart`);
    const answer = answered(await call(broken.origin));
    expect([answer.status, answer.body.toString(), answer.truncated]).to.deep.equal([200, 'part', true]);
    const chunked = await rawServer(`${HEAD}Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\nzz\r\n`);
    expect(answered(await call(chunked.origin))).to.include({ status: 200, truncated: true });
  });

  it('with more headers than an answer has is none', async () => {
    const huge = await rawServer(`${HEAD}X-Huge: ${'h'.repeat(100_000)}\r\n\r\n`);
    expect(await call(huge.origin)).to.include({ kind: 'failed', reason: 'protocol' });
    const many = await rawServer(`${HEAD}${'X-A: b\r\n'.repeat(50_000)}\r\n`);
    expect(await call(many.origin)).to.include({ kind: 'failed', reason: 'protocol' });
    const long = await rawServer(`${HEAD}ETag: ${'e'.repeat(5_000)}\r\nContent-Length: 0\r\n\r\n`);
    expect(answered(await call(long.origin)).headers.etag).to.have.lengthOf(1_000);
  });

  it('that is not HTTP is none', async () => {
    for (const said of [
      '220 mail.example ESMTP\r\n',
      '-ERR unknown command\r\n',
      'HTTP/9.9 200 OK\r\n\r\n',
      'HTTP/1.1 abc OK\r\n\r\n',
      `${HEAD}Content-Length: -1\r\n\r\n`,
      `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`,
      `${HEAD}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    ]) {
      const answer = await call((await rawServer(said)).origin);
      expect(answer.kind, JSON.stringify(said)).to.equal('failed');
      if (answer.kind === 'failed') expect(answer.reason).to.be.oneOf(['protocol', 'connection']);
    }
  });

  it('is missing when the connection ends or never begins', async () => {
    const closing = await rawServer((socket) => socket.destroy());
    expect(await call(closing.origin)).to.include({ kind: 'failed', reason: 'connection' });
    const resetting = await rawServer((socket) => socket.resetAndDestroy());
    expect(await call(resetting.origin)).to.include({ kind: 'failed', reason: 'connection' });
    const halved = await rawServer('HTTP/1.1 200 O');
    expect((await call(halved.origin)).kind).to.equal('failed');
    const gone = await listen(() => undefined);
    await gone.stop();
    expect(await call(gone.origin)).to.deep.include({ kind: 'failed', reason: 'connection' });
  });

  it('is sent for once, whatever becomes of it', async () => {
    const server = await rawServer((socket) => socket.destroy());
    for (const method of ['GET', 'POST', 'PUT'] as const) {
      await call(server.origin, { method, body: method === 'GET' ? undefined : 'x' });
    }
    await severalTurns();
    expect(server.heard).to.have.lengthOf(3);
  });
});

describe('the time of an exchange', () => {
  const timed = async (act: (socket: Socket) => void) => {
    const server = await rawServer(act);
    const begun = performance.now();
    const answer = await call(server.origin, { timeoutMs: 150 });
    expect(performance.now() - begun).to.be.within(140, 2_000);
    expect(answer).to.deep.equal({
      kind: 'failed',
      reason: 'timeout',
      message: 'There was no answer in time.',
    });
    await eventually(() => expect(server.sockets.size, 'the connection is closed').to.equal(0));
  };

  const drip = (socket: Socket, text: string): void => {
    const timer = setInterval(() => socket.write(text), 10);
    socket.on('close', () => clearInterval(timer));
  };

  it('ends when nothing comes', () => timed(() => undefined));

  it('ends when headers come drop by drop', () =>
    timed((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      drip(socket, 'X-A: b\r\n');
    }));

  it('ends when a body comes drop by drop', () =>
    timed((socket) => {
      socket.write(`${HEAD}Content-Length: 900\r\n\r\n`);
      drip(socket, '.');
    }));

  it('ends when informational answers never do', () =>
    timed((socket) => drip(socket, 'HTTP/1.1 102 P\r\n\r\n')));

  it('covers the look-up of the name', async () => {
    const begun = performance.now();
    const resolve = () => new Promise<string[]>(() => undefined);
    const answer = await call('https://hooks.example/', { timeoutMs: 100 }, { resolve });
    expect(answer).to.include({ kind: 'failed', reason: 'timeout' });
    expect(performance.now() - begun).to.be.lessThan(2_000);
  });

  it('is over for a look-up that answers later: nobody is connected to any more', async () => {
    const server = await rawServer(() => undefined);
    const { promise: found, resolve: find } = Promise.withResolvers<string[]>();
    const options = { resolve: () => found };
    const answer = await call(`http://hooks.example:${server.port}/`, { timeoutMs: 20 }, options);
    expect(answer).to.include({ kind: 'failed', reason: 'timeout' });
    find(['127.0.0.1']);
    await call(server.origin, { timeoutMs: 200 });
    expect(server.seen.connections, 'but for the call that came after it').to.equal(1);
  });

  it('is the caller’s to end, who then gets no answer', async () => {
    const why = new Error('stopping');
    const silent = await rawServer(() => undefined);
    const stop = new AbortController();
    const waiting = guard().request({ ...CALL, url: silent.origin }, stop.signal);
    await eventually(() => expect(silent.heard).to.have.lengthOf(1));
    stop.abort(why);
    expect(await rejection(waiting)).to.equal(why);
    await eventually(() => expect(silent.sockets.size).to.equal(0));
    expect(await rejection(guard().request({ ...CALL, url: silent.origin }, stop.signal))).to.equal(why);
    expect(silent.heard, 'nothing is sent for who has given up before').to.have.lengthOf(1);
  });
});

describe('the address of an exchange', () => {
  it('is judged at every call: a name that has moved inside is refused', async () => {
    const server = await rawServer(`${HEAD}\r\n`);
    const answers = [['93.184.215.14'], ['127.0.0.1'], ['93.184.215.14', '127.0.0.1']];
    let asked = 0;
    const resolve = async () => answers[asked++] ?? ['169.254.169.254'];
    const http = guardedHttp({ allowedNetworks: [], allowHttp: true, resolve });
    const url = `http://hooks.example:${server.port}/`;
    expect(await http.check(url)).to.deep.equal({ ok: true });
    for (let round = 0; round < 3; round += 1) {
      const answer = await http.request({ ...CALL, url });
      expect(answer).to.include({ kind: 'refused', reason: 'resolved_address' });
    }
    expect(asked).to.equal(4);
    expect(server.heard).to.deep.equal([]);
  });

  it('is the one that was judged, also when the name has moved since', async () => {
    const outside = await rawServer(`${HEAD}Content-Length: 3\r\n\r\nout`);
    let asked = 0;
    // Allowed at the first question of each call, refused at any other.
    const resolve = async () => (asked++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']);
    const answer = answered(await call(`http://hooks.example:${outside.port}/`, {}, { resolve }));
    expect(answer.body.toString()).to.equal('out');
    expect(asked).to.equal(1);
  });

  it('is looked at once more when the connection stands', async () => {
    expect(isPinned('127.0.0.1', ['127.0.0.1'])).to.equal(true);
    expect(isPinned('2606:2800:0:0::1', ['10.0.0.1', '2606:2800::1'])).to.equal(true);
    for (const reached of [undefined, '', '127.0.0.2', '::1', '::ffff:127.0.0.1', '127.0.0.1%lo', '127.1']) {
      expect(isPinned(reached, ['127.0.0.1']), reached).to.equal(false);
    }
    // A host that is an address is connected to without a look-up: another one than was judged does not pass.
    const server = await rawServer('');
    const target = { host: '127.0.0.1', addresses: ['93.184.215.14'], port: server.port, tls: false };
    const opening = openPinned({ ...target, authorities: undefined }, new AbortController().signal);
    expect(await rejection(opening)).to.be.instanceOf(Error);
    await severalTurns();
    expect(server.heard).to.deep.equal([]);
  });

  it('is none of this machine’s own, whatever kind they are', async () => {
    const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
    expect(addressesOfMachine()).to.have.members(own.map(({ address }) => address));
    const http = guardedHttp({ allowedNetworks: [], allowHttp: true });
    for (const { address, family } of own.filter((found) => !found.address.startsWith('fe80'))) {
      const host = family === 'IPv6' ? `[${address}]` : address;
      const answer = await http.request({ ...CALL, url: `http://${host}:8080/` });
      expect(answer, host).to.include({ kind: 'refused', reason: 'literal_address' });
    }
    // As if a public address were this machine's.
    const ownAddresses = () => ['93.184.215.14', '2606:2800:0:0:0:0:0:1'];
    const options = { allowedNetworks: [], ownAddresses, resolve: async () => ['93.184.215.14'] };
    for (const [url, reason] of [
      ['https://93.184.215.14/', 'literal_address'],
      ['https://[2606:2800::1]/', 'literal_address'],
      ['https://hooks.example/', 'resolved_address'],
    ] as const) {
      expect(await call(url, {}, options), url).to.include({ kind: 'refused', reason });
    }
  });
});

describe('what is said of an exchange', () => {
  it('names neither the URL nor what answered', async () => {
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
