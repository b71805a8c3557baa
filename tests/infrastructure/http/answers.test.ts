import type { Socket } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { rejection, severalTicks, untilPasses } from '../../support/eventually.ts';
import { listen } from '../../support/identity-provider.ts';
import { answered, CALL, call, guard, HEAD, rawServer, stopServers } from './exchange-support.ts';

after(stopServers);

describe('An answer', () => {
  it('is read up to the limit', async () => {
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

  it('may be endless', async () => {
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
    await untilPasses(() => expect(server.sockets.size, 'the connection is closed').to.equal(0));
    expect(written, 'the rest was not taken').to.be.lessThan(20_000_000);
  });

  it('is not decompressed', async () => {
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

  it('that breaks off is truncated', async () => {
    const broken = await rawServer(`${HEAD}Content-Length: 100\r\n\r\npart`);
    const answer = answered(await call(broken.origin));
    expect([answer.status, answer.body.toString(), answer.truncated]).to.deep.equal([200, 'part', true]);
    const chunked = await rawServer(`${HEAD}Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\nzz\r\n`);
    expect(answered(await call(chunked.origin))).to.include({ status: 200, truncated: true });
  });

  it('with too many headers is refused', async () => {
    const huge = await rawServer(`${HEAD}X-Huge: ${'h'.repeat(100_000)}\r\n\r\n`);
    expect(await call(huge.origin)).to.include({ kind: 'failed', reason: 'protocol' });
    const many = await rawServer(`${HEAD}${'X-A: b\r\n'.repeat(50_000)}\r\n`);
    expect(await call(many.origin)).to.include({ kind: 'failed', reason: 'protocol' });
    const long = await rawServer(`${HEAD}ETag: ${'e'.repeat(5_000)}\r\nContent-Length: 0\r\n\r\n`);
    expect(answered(await call(long.origin)).headers.etag).to.have.lengthOf(1_000);
  });

  it('that is not HTTP is refused', async () => {
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

  it('is requested once, also when it fails', async () => {
    const server = await rawServer((socket) => socket.destroy());
    for (const method of ['GET', 'POST', 'PUT'] as const) {
      await call(server.origin, { method, body: method === 'GET' ? undefined : 'x' });
    }
    await severalTicks();
    expect(server.heard).to.have.lengthOf(3);
  });
});

describe('The deadline of an exchange', () => {
  const timed = async (act: (socket: Socket) => void) => {
    const server = await rawServer(act);
    const answer = await call(server.origin, { timeoutMs: 150 });
    expect(answer).to.deep.equal({
      kind: 'failed',
      reason: 'timeout',
      message: 'There was no answer in time.',
    });
    await untilPasses(() => expect(server.sockets.size, 'the connection is closed').to.equal(0));
  };

  const drip = (socket: Socket, text: string): void => {
    const timer = setInterval(() => socket.write(text), 10);
    socket.on('close', () => clearInterval(timer));
  };

  it('passes when nothing arrives', () => timed(() => undefined));

  it('passes when headers trickle', () =>
    timed((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      drip(socket, 'X-A: b\r\n');
    }));

  it('passes when a body trickles', () =>
    timed((socket) => {
      socket.write(`${HEAD}Content-Length: 900\r\n\r\n`);
      drip(socket, '.');
    }));

  it('passes when informational answers continue', () =>
    timed((socket) => drip(socket, 'HTTP/1.1 102 P\r\n\r\n')));

  it('covers the look-up of the name', async () => {
    const resolve = () => new Promise<string[]>(() => undefined);
    const answer = await call('https://hooks.example/', { timeoutMs: 100 }, { resolve });
    expect(answer).to.include({ kind: 'failed', reason: 'timeout' });
  });

  it('ignores a look-up that answers later', async () => {
    const server = await rawServer(() => undefined);
    const { promise: found, resolve: find } = Promise.withResolvers<string[]>();
    const options = { resolve: () => found };
    const answer = await call(`http://hooks.example:${server.port}/`, { timeoutMs: 20 }, options);
    expect(answer).to.include({ kind: 'failed', reason: 'timeout' });
    find(['127.0.0.1']);
    await call(server.origin, { timeoutMs: 200 });
    expect(server.seen.connections, 'but for the call that came after it').to.equal(1);
  });

  it('also ends with the caller’s signal', async () => {
    const why = new Error('stopping');
    const silent = await rawServer(() => undefined);
    const stop = new AbortController();
    const waiting = guard().request({ ...CALL, url: silent.origin }, stop.signal);
    await untilPasses(() => expect(silent.heard).to.have.lengthOf(1));
    stop.abort(why);
    expect(await rejection(waiting)).to.equal(why);
    await untilPasses(() => expect(silent.sockets.size).to.equal(0));
    expect(await rejection(guard().request({ ...CALL, url: silent.origin }, stop.signal))).to.equal(why);
    expect(silent.heard, 'nothing is sent for who has given up before').to.have.lengthOf(1);
  });
});
