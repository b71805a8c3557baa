import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { expect } from 'chai';
import { z } from 'zod';
import { type ReceivedFile, type Route, route, type UploadRules } from '../../../api/http/route.ts';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { untilPasses } from '../../support/eventually.ts';
import { BOUNDARY, digest, file, form, LIMIT, type Part, TYPE } from './multipart.ts';
import { type Answer, serve, type TestServer } from './support.ts';

/** Stored files, and files being stored. */
const stored = new Map<string, number>();
let receiving = 0;
let admitted = 0;
let begun = 0;
let handled = 0;
let storeFails = false;
let recordIsThere = true;

const receive = async (source: Readable): Promise<ReceivedFile> => {
  begun += 1;
  receiving += 1;
  try {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of source) {
      size += chunk.length;
      hash.update(chunk);
      if (storeFails) throw new StoreUnavailable('the disk is full');
    }
    const id = `upload-${begun}`;
    stored.set(id, size);
    return { id, size, sha256: hash.digest('hex') };
  } finally {
    receiving -= 1;
  }
};

const upload: UploadRules<{ name: string }> = {
  limit: LIMIT,
  totalMs: 1500,
  idleMs: 400,
  admit: async ({ params }) => {
    admitted += 1;
    if (params.name !== 'known' || !recordIsThere) throw notFound();
  },
  receive: (_request, source) => receive(source),
  drop: async (_request, id) => {
    stored.delete(id);
  },
};

const uploads: Route = route({
  method: 'post',
  path: '/api/v1/things/:name/files',
  operationId: 'upload',
  summary: 'Takes a file',
  description: 'A route of the tests.',
  tag: 'Files',
  access: { kind: 'principals', kinds: ['user'], roles: ['admin'] },
  params: z.object({ name: z.string() }),
  body: z.object({ label: z.string().max(5).optional() }),
  upload,
  responses: { 201: z.looseObject({ id: z.string() }) },
  handle: async (request) => {
    handled += 1;
    return { status: 201, body: { ...request.upload, ...request.body } };
  },
});

describe('Uploads', () => {
  let server: TestServer;
  before(async () => {
    server = await serve([uploads]);
  });
  after(() => server.close());
  beforeEach(() => {
    stored.clear();
    [receiving, admitted, begun, handled, storeFails, recordIsThere] = [0, 0, 0, 0, false, true];
  });

  const send = (body: Buffer | string, own: Record<string, string> = {}, path = 'known', as = 'admin') =>
    server.request('POST', `/api/v1/things/${path}/files`, {
      as,
      body,
      headers: { 'Content-Type': TYPE, ...own },
    });

  /** Checks a refusal, and that nothing is stored or still being read. */
  const refused = (answer: Answer, status: number, error: string): void => {
    expect([answer.status, answer.json.error], answer.text).to.deep.equal([status, error]);
    expect(receiving, 'still receiving').to.equal(0);
    expect(stored.size, 'stored').to.equal(0);
    expect(handled).to.equal(0);
  };

  it('give the handler the file’s facts and the other fields', async () => {
    const content = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 251));
    const answer = await send(
      form({ name: 'label', content: 'blue' }, file(content, 'ä b.bin', 'Image/PNG; x=y')),
    );
    expect(answer.status, answer.text).to.equal(201);
    expect(answer.json).to.deep.equal({
      id: 'upload-1',
      filename: 'ä b.bin',
      contentType: 'image/png',
      size: 70_000,
      sha256: digest(content),
      label: 'blue',
    });
    expect(stored.get('upload-1')).to.equal(70_000);
  });

  for (const [name, part, seen] of [
    ['an empty file', file(''), { size: 0, sha256: digest('') }],
    ['as many bytes as are allowed', file(Buffer.alloc(LIMIT)), { size: LIMIT }],
    ['a file without a name', { name: 'file', type: 'application/octet-stream', content: 'x' }, { size: 1 }],
    ['a path as a name', file('x', '../../etc/passwd'), { filename: '../../etc/passwd' }],
    [
      'an extended name',
      {
        headers: `Content-Disposition: form-data; name="file"; filename*=UTF-8''%E2%82%AC.txt\r\n`,
        content: 'x',
      },
      { filename: '€.txt' },
    ],
    ['something like a boundary within', file(`\r\n--${BOUNDARY.slice(0, -1)}\r\n--`), { size: 19 }],
  ] as const) {
    it(`may be ${name}`, async () => {
      const answer = await send(form(part));
      expect(answer.status, answer.text).to.equal(201);
      expect(answer.json).to.include(seen);
    });
  }

  const other = { name: 'other', content: 'x' };
  for (const [name, body, status, error] of [
    ['one byte too many', form(file(Buffer.alloc(LIMIT + 1))), 413, 'payload_too_large'],
    ['many bytes too many', form(file(Buffer.alloc(LIMIT + 200_000))), 413, 'payload_too_large'],
    ['far too many bytes', form(file(Buffer.alloc(LIMIT + 2_000_000))), 413, 'payload_too_large'],
    ['no part', form(), 400, 'validation_failed'],
    ['no file', form(other), 400, 'validation_failed'],
    ['a text in the place of the file', form({ name: 'file', content: 'x' }), 400, 'validation_failed'],
    ['a file of another name', form({ ...file(), name: 'attachment' }), 400, 'validation_failed'],
    ['two files', form(file('one'), file('two')), 400, 'validation_failed'],
    ['a second file of another name', form(file('one'), { ...file(), name: 'x' }), 400, 'validation_failed'],
    ['nine fields', form(...Array.from({ length: 9 }, () => other), file()), 400, 'validation_failed'],
    [
      'nine fields after the file',
      form(file(), ...Array.from({ length: 9 }, () => other)),
      400,
      'validation_failed',
    ],
    [
      'a second file after a long one',
      form(file(Buffer.alloc(LIMIT)), file('two')),
      400,
      'validation_failed',
    ],
    [
      'nine fields after a long file',
      form(file(Buffer.alloc(LIMIT)), ...Array.from({ length: 9 }, () => other)),
      400,
      'validation_failed',
    ],
    [
      'a missing end after a long file',
      form(file(Buffer.alloc(LIMIT)), other).subarray(0, -6),
      400,
      'validation_failed',
    ],
    ['a large field', form({ ...other, content: 'x'.repeat(16_385) }, file()), 413, 'payload_too_large'],
    ['a field with a long name', form({ ...other, name: 'x'.repeat(101) }, file()), 413, 'payload_too_large'],
    [
      'a field that the route refuses',
      form(file(), { name: 'label', content: 'purple' }),
      400,
      'validation_failed',
    ],
    ['a missing end', form(file()).subarray(0, -6), 400, 'validation_failed'],
    ['an end within the file', form(file('x'.repeat(5000))).subarray(0, 2000), 400, 'validation_failed'],
    [
      'a broken part header',
      form({ headers: 'no header\r\n', content: 'x' }, file()),
      400,
      'validation_failed',
    ],
    [
      'a huge part header',
      form({ headers: `X: ${'y'.repeat(20_000)}\r\n`, content: 'x' }, file()),
      400,
      'validation_failed',
    ],
    ['another boundary', form(file()).toString().replaceAll(BOUNDARY, 'other'), 400, 'validation_failed'],
    ['no multipart', '{"file":1}', 400, 'validation_failed'],
    ['an endless preamble', `${'x'.repeat(LIMIT + 270_000)}${form(file())}`, 413, 'payload_too_large'],
  ] as const) {
    it(`are refused for ${name}: ${status}`, async () => {
      refused(await send(body), status, error);
    });
  }

  it('may have eight fields', async () => {
    expect((await send(form(...Array.from({ length: 8 }, () => other), file()))).status).to.equal(201);
  });

  for (const [name, headers, status, error] of [
    ['another type', { 'Content-Type': 'application/json' }, 415, 'unsupported_media_type'],
    ['urlencoded', { 'Content-Type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    [
      'multipart of another kind',
      { 'Content-Type': `multipart/mixed; boundary=x` },
      415,
      'unsupported_media_type',
    ],
    ['a compressed body', { 'Content-Encoding': 'gzip' }, 415, 'unsupported_media_type'],
    ['no boundary', { 'Content-Type': 'multipart/form-data' }, 400, 'validation_failed'],
    ['a broken type', { 'Content-Type': 'multipart/form-data; =' }, 400, 'validation_failed'],
    ['a broken key', { 'Idempotency-Key': 'two\twords' }, 400, 'validation_failed'],
  ] as const) {
    it(`are refused for ${name} before a look-up or a read of bytes: ${status}`, async () => {
      refused(await send(form(file()), headers, 'unknown'), status, error);
      expect([admitted, begun]).to.deep.equal([0, 0]);
    });
  }

  it('without a body are 415', async () => {
    const answer = await server.request('POST', '/api/v1/things/known/files', { as: 'admin' });
    refused(answer, 415, 'unsupported_media_type');
  });

  it('are refused by credential, role and existence before a byte is stored', async () => {
    refused(await send(form(file()), {}, 'known', 'nobody'), 401, 'invalid_credential');
    refused(await send(form(file()), {}, 'known', 'operator'), 403, 'admin_required');
    expect(admitted).to.equal(0);
    refused(await send(form(file()), {}, 'unknown'), 404, 'not_found');
    refused(await send(form(file()), {}, 'known/../unknown'), 404, 'not_found');
    refused(await send(form(file(Buffer.alloc(LIMIT + 1))), {}, 'unknown'), 404, 'not_found');
    expect(begun).to.equal(0);
  });

  it('that name another tenant are 403, and leave nothing stored', async () => {
    refused(await send(form(file(), { name: 'tenant_id', content: 'globex' })), 403, 'tenant_mismatch');
    const answer = await server.request('POST', '/api/v1/things/known/files?tenant_id=globex', {
      as: 'admin',
      body: form(file()),
      headers: { 'Content-Type': TYPE },
    });
    refused(answer, 403, 'tenant_mismatch');
    expect((await send(form({ name: 'tenant_id', content: 'acme' }, file()))).status).to.equal(201);
  });

  it('are 503 when the store fails midway', async () => {
    storeFails = true;
    refused(await send(form(file(Buffer.alloc(90_000)))), 503, 'unavailable');
  });

  /** Sends the head of an upload and these bytes, then nothing; returns the answer. */
  const begin = (bytes: Buffer, then: 'close' | 'wait', length = 90_000): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        socket.write(
          'POST /api/v1/things/known/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n' +
            `Content-Type: ${TYPE}\r\nContent-Length: ${length}\r\n\r\n`,
        );
        socket.write(bytes, () => {
          if (then === 'close')
            untilPasses(() => expect(receiving).to.equal(1)).then(() => socket.destroy(), resolve);
        });
      });
      let text = '';
      socket.on('data', (chunk) => {
        text += String(chunk);
        socket.destroy();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(text));
    });

  const half = form(file(Buffer.alloc(80_000))).subarray(0, 40_000);

  it('of a client that disconnects leave nothing stored', async () => {
    await begin(half, 'close');
    await untilPasses(() => expect([begun, receiving, stored.size, handled]).to.deep.equal([1, 0, 0, 0]));
  });

  it('of a client that stalls after the file leave nothing stored', async () => {
    const behind = form(file(Buffer.alloc(80_000)), other).subarray(0, 80_300);
    const gone = begin(behind, 'wait');
    await untilPasses(() => expect([...stored.values()]).to.deep.equal([80_000]));
    expect(await gone).to.contain('too_slow');
    await untilPasses(() => expect([begun, receiving, stored.size, handled]).to.deep.equal([1, 0, 0, 0]));
  });

  it('of a client that stalls are ended', async () => {
    const text = await begin(half, 'wait');
    expect(text)
      .to.match(/^HTTP\/1\.1 400 /)
      .and.to.contain('too_slow');
    expect([begun, receiving, stored.size, handled]).to.deep.equal([1, 0, 0, 0]);
  });

  it('of a client that sends too slowly are ended', async () => {
    const socket = connect(server.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.on('error', () => undefined);
    socket.write(
      'POST /api/v1/things/known/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n' +
        `Content-Type: ${TYPE}\r\nContent-Length: 90000\r\n\r\n`,
    );
    socket.write(half.subarray(0, 500));
    const timer = setInterval(() => socket.write('x'), 50);
    await untilPasses(() => expect(text).to.contain('too_slow'));
    clearInterval(timer);
    socket.destroy();
    expect([begun, receiving, stored.size, handled]).to.deep.equal([1, 0, 0, 0]);
  });

  it('with chunked encoding are counted as they arrive', async () => {
    const head = `Host: x\r\nAuthorization: Bearer admin\r\nContent-Type: ${TYPE}\r\nTransfer-Encoding: chunked\r\n`;
    const chunks = (bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]);
    const send = (bytes: Buffer) =>
      server.raw(
        Buffer.concat([
          Buffer.from(`POST /api/v1/things/known/files HTTP/1.1\r\n${head}Connection: close\r\n\r\n`),
          chunks(bytes),
        ]),
      );
    expect((await send(form(file()))).slice(9, 12)).to.equal('201');
    stored.clear();
    handled = 0;
    for (const bytes of [
      form(file(Buffer.alloc(LIMIT + 1))),
      Buffer.concat([Buffer.alloc(LIMIT + 270_000), form(file())]),
    ]) {
      expect((await send(bytes)).slice(9, 12)).to.equal('413');
      expect([stored.size, receiving, handled]).to.deep.equal([0, 0, 0]);
    }
  });

  it('that are refused midway leave the connection usable', async () => {
    const head = `Host: x\r\nAuthorization: Bearer admin\r\nContent-Type: ${TYPE}\r\n`;
    const [large, small] = [form(file(Buffer.alloc(LIMIT + 100_000))), form(file())];
    const text = await server.raw(
      Buffer.concat([
        Buffer.from(
          `POST /api/v1/things/known/files HTTP/1.1\r\n${head}Content-Length: ${large.length}\r\n\r\n`,
        ),
        large,
        Buffer.from(
          `POST /api/v1/things/known/files HTTP/1.1\r\n${head}Connection: close\r\nContent-Length: ${small.length}\r\n\r\n`,
        ),
        small,
      ]),
    );
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['413', '201']);
  });

  describe('with an Idempotency-Key', () => {
    const keyed = (key: string, ...parts: readonly Part[]) =>
      send(form(...parts), { 'Idempotency-Key': key });

    it('have one effect, and the bytes of a repetition are deleted', async () => {
      const first = await keyed('k1', file());
      const again = await keyed('k1', file());
      expect([first.status, again.status, handled]).to.deep.equal([201, 201, 1]);
      expect(again.text).to.equal(first.text);
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
      expect([...stored.keys()]).to.deep.equal(['upload-1']);
    });

    it('are replayed after their record was deleted', async () => {
      const first = await keyed('k2', file());
      recordIsThere = false;
      expect((await keyed('k2', file())).text).to.equal(first.text);
      refused({ ...(await clear(keyed('k3', file()))) }, 404, 'not_found');
    });

    const clear = async (answer: Promise<Answer>): Promise<Answer> => {
      const got = await answer;
      stored.delete('upload-1');
      handled = 0;
      return got;
    };

    it('are refused with another file, name, type or field', async () => {
      await keyed('k4', file());
      for (const parts of [
        [file('hellO')],
        [file('hello', 'b.txt')],
        [file('hello', 'a.txt', 'text/csv')],
        [file(), { name: 'label', content: 'x' }],
      ]) {
        const answer = await keyed('k4', ...parts);
        expect([answer.status, answer.json.error]).to.deep.equal([422, 'idempotency_key_reused']);
      }
      expect([handled, ...stored.keys()]).to.deep.equal([1, 'upload-1']);
    });

    it('have one effect when ten are sent concurrently', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => keyed('k5', file())));
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      expect([handled, stored.size]).to.deep.equal([1, 1]);
    });
  });

  it('are documented as multipart', async () => {
    const { json } = await server.request('GET', '/openapi.json');
    expect(json)
      .to.have.nested.property('paths./api/v1/things/{name}/files.post.requestBody.content')
      .with.keys('multipart/form-data');
    expect(JSON.stringify(json)).to.contain('"required":["file"]');
  });
});
