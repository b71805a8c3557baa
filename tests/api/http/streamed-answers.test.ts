import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { route } from '../../../api/http/route.ts';
import { ChunkedBody, type Streamed } from '../../../api/http/stream.ts';
import { gate, untilPasses } from '../../support/eventually.ts';
import { withFakeTimers } from '../../support/fake-timers.ts';
import { serve } from './support.ts';

/** An endless body, with its observed state. */
interface Endless {
  readonly body: Streamed;
  readonly isEnded: () => boolean;
  /** Bytes produced so far. */
  readonly made: () => number;
}

const PIECE = 65_536;

const kinds: Readonly<Record<string, (stopping?: AbortSignal) => Endless>> = {
  'of a stream': () => {
    let made = 0;
    const body = new Readable({
      read() {
        made += PIECE;
        this.push(Buffer.alloc(PIECE));
      },
    });
    return { body, isEnded: () => body.destroyed, made: () => made };
  },
  'of pieces': (stopping = new AbortController().signal) => {
    let made = 0;
    let isEnded = false;
    const source = (async function* () {
      try {
        for (;;) {
          made += PIECE;
          yield Buffer.alloc(PIECE);
        }
      } finally {
        isEnded = true;
      }
    })();
    const ended = source.return.bind(source);
    // A generator that never began does not run its `finally`, so calls of `return` count as the end.
    source.return = (value) => {
      isEnded = true;
      return ended(value);
    };
    return { body: new ChunkedBody(source, stopping), isEnded: () => isEnded, made: () => made };
  },
};

/** Waits until a body is produced no further, since its reader takes nothing. @returns the bytes produced */
const madeAtMost = (made: () => number): Promise<number> =>
  untilPasses(async () => {
    const seen = made();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(made()).to.equal(seen).and.to.be.greaterThan(0);
    return seen;
  });

const begin = (url: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get(url, (response) => {
      response.on('error', () => undefined);
      resolve(response);
    }).on('error', reject);
  });

const endOf = (reader: IncomingMessage): Promise<'whole' | 'broken'> =>
  new Promise((resolve) => {
    reader.once('end', () => resolve('whole'));
    reader.once('error', () => resolve('broken'));
    reader.resume();
  });

const streams = (body: Streamed, wait?: Promise<void>) =>
  streamsOf(async () => {
    await wait;
    return body;
  });

const oneAfterAnother = (bodies: readonly Streamed[]) => {
  let nth = 0;
  return streamsOf(async () => bodies[nth++] ?? expect.fail());
};

const streamsOf = (bodyOf: () => Promise<Streamed>) =>
  route({
    method: 'get',
    path: '/stream',
    operationId: 'stream',
    summary: 'Streams',
    description: 'A route of the tests.',
    tag: 'Files',
    access: { kind: 'public' },
    responses: { 200: null },
    produces: 'application/octet-stream',
    handle: async () => {
      const body = await bodyOf();
      return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, body };
    },
  });

for (const [kind, endless] of Object.entries(kinds)) {
  describe(`A streamed answer ${kind}`, () => {
    it('is produced at the reader’s speed', async () => {
      const { body, made } = endless();
      const server = await serve([streams(body)]);
      const reader = await begin(`${server.origin}/stream`);
      reader.pause();
      expect(await madeAtMost(made)).to.be.lessThan(50_000_000);
      reader.destroy();
      await server.close();
    });

    it('ends its source when the reader disconnects', async () => {
      const { body, isEnded } = endless();
      const server = await serve([streams(body)]);
      const reader = await begin(`${server.origin}/stream`);
      expect(isEnded()).to.equal(false);
      reader.destroy();
      await untilPasses(() => expect(isEnded()).to.equal(true));
      await server.close();
    });

    it('ends its source when the reader disconnected before the start', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { body, isEnded } = endless();
      const server = await serve([streams(body, promise)]);
      const outgoing = get(`${server.origin}/stream`);
      outgoing.on('error', () => undefined);
      await new Promise((sent) => outgoing.once('socket', (socket) => socket.once('connect', sent)));
      await new Promise((sent) => setTimeout(sent, 50));
      outgoing.destroy();
      await new Promise((gone) => setTimeout(gone, 50));
      resolve();
      await untilPasses(() => expect(isEnded()).to.equal(true));
      await server.close();
    });

    it('ends after 15 s in which its reader takes nothing', () =>
      withFakeTimers(async (time) => {
        const { body, isEnded, made } = endless();
        const server = await serve([streams(body)]);
        const reader = await begin(`${server.origin}/stream`);
        reader.pause();
        await madeAtMost(made);
        await time.pass(17_000);
        await untilPasses(() => expect(isEnded()).to.equal(true));
        await server.close();
      }));

    it('has no body for HEAD, and ends its source', async () => {
      const { body, isEnded } = endless();
      const server = await serve([streams(body)]);
      const answer = await server.request('HEAD', '/stream');
      expect([answer.status, answer.text]).to.deep.equal([200, '']);
      expect(isEnded()).to.equal(true);
      await server.close();
    });
  });
}

describe('A streamed answer', () => {
  const failing = async function* (): AsyncGenerator<Uint8Array, void, void> {
    yield Buffer.from('some');
    throw new Error('the disk is gone');
  };

  for (const [kind, body] of [
    ['a stream', () => Readable.from(failing())],
    ['pieces', () => new ChunkedBody(failing(), new AbortController().signal)],
  ] as const) {
    it(`closes the connection when its source fails, ${kind}`, async () => {
      const server = await serve([streams(body())]);
      expect(await endOf(await begin(`${server.origin}/stream`))).to.equal('broken');
      await server.close();
    });
  }

  /** A body whose source waits after its first chunk until the gate opens. */
  const waiting = (opened: Promise<void>): Streamed =>
    new ChunkedBody(
      (async function* () {
        yield Buffer.from('first');
        await opened;
        yield Buffer.from('last');
      })(),
      new AbortController().signal,
    );

  it('continues after its source has produced nothing for a minute', () =>
    withFakeTimers(async (time) => {
      const source = gate();
      const server = await serve([streams(waiting(source.passed))]);
      const reader = await begin(`${server.origin}/stream`);
      await once(reader, 'readable');
      await time.pass(60_000);
      source.open();
      expect(await endOf(reader)).to.equal('whole');
      await server.close();
    }));

  it('is complete although its chunks share a buffer', async () => {
    const room = Buffer.alloc(300_000);
    const count = 50;
    const source = (async function* () {
      for (let nth = 0; nth < count; nth += 1) {
        room.fill(nth);
        yield room.subarray(0, room.length - nth);
      }
    })();
    const server = await serve([streams(new ChunkedBody(source, new AbortController().signal))]);
    const reader = await begin(`${server.origin}/stream`);
    const parts: Buffer[] = [];
    reader.on('data', (part: Buffer) => {
      parts.push(part);
      // Reads more slowly than the source produces, so that chunks wait.
      reader.pause();
      setImmediate(() => reader.resume());
    });
    await once(reader, 'end');
    const expected = Array.from({ length: count }, (_, nth) => Buffer.alloc(room.length - nth, nth));
    expect(Buffer.concat(parts).equals(Buffer.concat(expected))).to.equal(true);
    await server.close();
  });

  const TWICE = 'GET /stream HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2);

  it('follows the earlier answer when a connection pipelines two requests', async () => {
    const bodies = ['one', 'two'].map((text) => Readable.from([Buffer.from(text)]));
    const server = await serve([oneAfterAnother(bodies)]);
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (part: string) => {
      answer += part;
    });
    socket.write(TWICE);
    await untilPasses(() => expect(answer).to.match(/\r\none\r\n0\r\n.*\r\ntwo\r\n0\r\n/s));
    socket.destroy();
    await server.close();
  });

  it('begins after the earlier answer of its connection, and never begins when the connection closes', async () => {
    for (const endless of Object.values(kinds)) {
      const all = [endless(), endless()];
      const server = await serve([oneAfterAnother(all.map(({ body }) => body))]);
      const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
      socket.write(TWICE);
      await once(socket, 'data');
      expect(all.map(({ isEnded }) => isEnded())).to.deep.equal([false, false]);
      socket.destroy();
      await untilPasses(() => expect(all.map(({ isEnded }) => isEnded())).to.deep.equal([true, false]));
      await server.close();
    }
  });

  it('ends when its connection closes while many answers wait, without a warning', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    const all = Array.from({ length: 30 }, () => kinds['of pieces']?.() ?? expect.fail());
    const server = await serve([oneAfterAnother(all.map(({ body }) => body))]);
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
    socket.write(TWICE.repeat(all.length / 2));
    await once(socket, 'data');
    socket.destroy();
    await untilPasses(() => expect(all[0]?.isEnded()).to.equal(true));
    await server.close();
    process.off('warning', note);
    expect(warnings).to.deep.equal([]);
  });

  it('never begins after an answer that ends the connection', async () => {
    const { body } = kinds['of pieces']?.() ?? expect.fail();
    let began = 0;
    const counted = streamsOf(async () => {
      began += 1;
      return body;
    });
    const server = await serve([counted]);
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
    // Node ends a connection of HTTP/1.0 after an answer without a length.
    const rest = 'HTTP/1.0\r\nConnection: keep-alive\r\nHost: x\r\n\r\n';
    socket.end(`OPTIONS /stream ${rest}GET /stream ${rest}`);
    socket.resume();
    await once(socket, 'close');
    await server.close();
    expect(began).to.equal(0);
  });

  it('of chunks is truncated when its source is stopped, before or after the start', async () => {
    for (const isBefore of [true, false]) {
      const stopping = new AbortController();
      if (isBefore) stopping.abort();
      const { body, isEnded } = kinds['of pieces']?.(stopping.signal) ?? expect.fail();
      const server = await serve([streams(body)]);
      const reader = await begin(`${server.origin}/stream`).catch(() => 'broken' as const);
      stopping.abort();
      expect(reader === 'broken' ? reader : await endOf(reader)).to.equal('broken');
      await untilPasses(() => expect(isEnded()).to.equal(true));
      await server.close();
    }
  });
});
