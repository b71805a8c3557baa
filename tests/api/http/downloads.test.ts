import { createServer, get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import { byteRange } from '../../../api/http/byte-range.ts';
import { attachment } from '../../../api/http/content-disposition.ts';
import { route } from '../../../api/http/route.ts';
import { sendStream } from '../../../api/http/stream.ts';
import { eventually } from '../../support/eventually.ts';
import { serve } from './support.ts';

describe('Content-Disposition', () => {
  const cases: readonly (readonly [name: string, header: string])[] = [
    ['a.txt', 'attachment; filename="a.txt"'],
    ['two words.txt', 'attachment; filename="two words.txt"'],
    ['a"b\\c.txt', 'attachment; filename="a_b_c.txt"; filename*=UTF-8\'\'a%22b%5Cc.txt'],
    ['50%41.txt', 'attachment; filename="50_41.txt"; filename*=UTF-8\'\'50%2541.txt'],
    ["it's (1)*.txt", 'attachment; filename="it\'s (1)*.txt"'],
    ["ü'(*).txt", "attachment; filename=\"_'(*).txt\"; filename*=UTF-8''%C3%BC%27%28%2A%29.txt"],
    ['日本.txt', 'attachment; filename="__.txt"; filename*=UTF-8\'\'%E6%97%A5%E6%9C%AC.txt'],
    ['😀', 'attachment; filename="_"; filename*=UTF-8\'\'%F0%9F%98%80'],
  ];
  for (const [name, header] of cases) {
    it(`of ${name}`, () => {
      expect(attachment(name)).to.equal(header);
    });
  }

  it('of any name is one header, and gives the name back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), (text) => {
        const name = text.toWellFormed();
        const header = attachment(name);
        const [, plain = '', encoded] =
          /^attachment; filename="([^"\\]*)"(?:; filename\*=UTF-8''([A-Za-z0-9%!~._-]*))?$/.exec(header) ??
          [];
        expect(header).to.match(/^[\x20-\x7e]+$/);
        expect(encoded === undefined ? plain : decodeURIComponent(encoded)).to.equal(name);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('Range', () => {
  const cases: readonly (readonly [header: string | undefined, first?: number, last?: number])[] = [
    ['bytes=0-0', 0, 0],
    ['bytes=0-9', 0, 9],
    ['bytes=0-99', 0, 9],
    ['bytes=3-', 3, 9],
    ['bytes=-3', 7, 9],
    ['bytes=-99', 0, 9],
    ['bytes=9-9', 9, 9],
    ['bytes=10-'],
    ['bytes=-0'],
    ['bytes=-'],
    ['bytes=5-4'],
    ['bytes=0-1,3-4'],
    ['lines=0-1'],
    ['bytes=a-b'],
    ['bytes=0-9999999999999999999'],
    [undefined],
  ];
  for (const [header, first, last] of cases) {
    it(`${header} of ten bytes`, () => {
      expect(byteRange(header, 10)).to.deep.equal(first === undefined ? undefined : { first, last });
    });
  }

  it('of nothing is none', () => {
    expect(byteRange('bytes=0-0', 0)).to.equal(undefined);
    expect(byteRange('bytes=-1', 0)).to.equal(undefined);
  });
});

describe('A streamed answer', () => {
  /** Never ends by itself. */
  const endless = (): Readable => {
    const piece = Buffer.alloc(65_536);
    return new Readable({
      read() {
        this.push(piece);
      },
    });
  };

  const begin = (url: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      get(url, (response) => {
        response.on('error', () => undefined);
        resolve(response);
      }).on('error', reject);
    });

  const streams = (source: Readable, wait?: Promise<void>) =>
    route({
      method: 'get',
      path: '/stream',
      operationId: 'stream',
      summary: 'Streams',
      tag: 'Files',
      access: { kind: 'public' },
      responses: { 200: null },
      produces: 'application/octet-stream',
      handle: async () => {
        await wait;
        return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, body: source };
      },
    });

  it('is read no faster than it is taken', async () => {
    let pushed = 0;
    const source = endless();
    source.on('data', (chunk: Buffer) => {
      pushed += chunk.length;
    });
    source.pause();
    const server = await serve([streams(source)]);
    const reader = await begin(`${server.origin}/stream`);
    let before = -1;
    await eventually(async () => {
      const seen = pushed;
      await new Promise((resolve) => setTimeout(resolve, 100));
      before = pushed;
      expect(pushed).to.equal(seen).and.to.be.greaterThan(0);
    });
    expect(before).to.be.lessThan(50_000_000);
    reader.destroy();
    await server.close();
  });

  it('ends its source when the reader goes away', async () => {
    const source = endless();
    const server = await serve([streams(source)]);
    const reader = await begin(`${server.origin}/stream`);
    expect(source.destroyed).to.equal(false);
    reader.destroy();
    await eventually(() => expect(source.destroyed).to.equal(true));
    await server.close();
  });

  it('ends its source when the reader was gone before it began', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const source = endless();
    const server = await serve([streams(source, promise)]);
    const outgoing = get(`${server.origin}/stream`);
    outgoing.on('error', () => undefined);
    await new Promise((sent) => outgoing.once('socket', (socket) => socket.once('connect', sent)));
    await new Promise((sent) => setTimeout(sent, 50));
    outgoing.destroy();
    await new Promise((gone) => setTimeout(gone, 50));
    resolve();
    await eventually(() => expect(source.destroyed).to.equal(true));
    await server.close();
  });

  it('breaks the connection off when its source fails', async () => {
    const source = Readable.from(
      (async function* () {
        yield Buffer.from('some');
        throw new Error('the disk is gone');
      })(),
    );
    const server = await serve([streams(source)]);
    const reader = await begin(`${server.origin}/stream`);
    const ended = await new Promise((resolve) => {
      reader.once('end', () => resolve('whole'));
      reader.once('error', () => resolve('broken'));
      reader.resume();
    });
    expect(ended).to.equal('broken');
    await server.close();
  });

  it('is given up for a reader that takes nothing', async () => {
    const source = endless();
    const server = createServer((_request, response) => sendStream(response, source, 200));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const reader = await begin(`http://127.0.0.1:${address.port}/`);
    reader.pause();
    await eventually(() => expect(source.destroyed).to.equal(true));
    server.closeAllConnections();
    server.close();
  });

  it('has no body for HEAD, and its source is let go of', async () => {
    const source = endless();
    const server = await serve([streams(source)]);
    const answer = await server.request('HEAD', '/stream');
    expect([answer.status, answer.text]).to.deep.equal([200, '']);
    expect(source.destroyed).to.equal(true);
    await server.close();
  });
});
