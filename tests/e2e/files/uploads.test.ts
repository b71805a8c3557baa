import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { parse } from 'content-disposition';
import { API_TOKENS, mintedToken } from '../../support/delegation.ts';
import { newRecord } from '../../support/records.ts';
import { forSuite } from '../../support/suite.ts';
import {
  blobsIn,
  download,
  FILE_LIMIT,
  FILES,
  type File,
  file,
  files,
  filesOf,
  formWith,
  MULTIPART,
  sha256,
  upload,
  uploaded,
} from '../../support/uploads.ts';
import { annAndRecord } from './support.ts';

describe('Uploading files', () => {
  const here = forSuite(() => annAndRecord());
  const ownBlobs = () => blobsIn(here().world.server.dataDir, here().tenant.id);

  it('answers with name, type, size, digest and time, and returns the same bytes', async () => {
    const { world, ann, record } = here();
    const content = randomBytes(300_000);
    const began = Date.now();
    const made = await uploaded(ann.api, record, content, { filename: 'photo.png', type: 'image/png' });
    expect(made).to.include({
      filename: 'photo.png',
      content_type: 'image/png',
      size: 300_000,
      sha256: sha256(content),
    });
    expect(Date.parse(made.created_at)).to.be.within(began - 1000, Date.now() + 1000);
    expect((await download(world.server, ann.token, made.id)).bytes).to.deep.equal(content);
  });

  it('accepts 25 MiB, and refuses one byte more', async () => {
    const { world, ann, record } = here();
    const content = randomBytes(FILE_LIMIT + 1);
    const exact = content.subarray(0, FILE_LIMIT);
    const made = await uploaded(ann.api, record, exact);
    expect([made.size, made.sha256]).to.deep.equal([FILE_LIMIT, sha256(exact)]);
    expect((await download(world.server, ann.token, made.id)).bytes.equals(exact)).to.equal(true);
    const before = await ownBlobs();
    const refused = await upload(ann.api, record, content);
    expect([refused.status, refused.error]).to.deep.equal([413, 'payload_too_large']);
    expect(await ownBlobs()).to.deep.equal(before);
  });

  it('accepts an empty file', async () => {
    const { world, ann, record } = here();
    const made = await uploaded(ann.api, record, '', { filename: 'empty.txt' });
    expect(made).to.include({ size: 0, sha256: sha256(''), filename: 'empty.txt' });
    const { status, bytes, headers } = await download(world.server, ann.token, made.id);
    expect([status, bytes.length, headers.get('content-length')]).to.deep.equal([200, 0, '0']);
  });

  for (const [sent, kept] of [
    ['../../../etc/passwd', 'passwd'],
    ['C:\\\\temp\\\\boot.ini', 'boot.ini'],
    ['..', 'file'],
    ['a\u202etxt.exe', 'atxt.exe'],
    ['tab\there.txt', 'tabhere.txt'],
    ['Größe 漢字 😀.txt', 'Größe 漢字 😀.txt'],
    ['e\u0301.txt', '\u00e9.txt'],
    [`${'n'.repeat(400)}.txt`, `${'n'.repeat(251)}.txt`],
    ["';DROP TABLE files;--.csv", "';DROP TABLE files;--.csv"],
    ['<img src=x onerror=alert(1)>.png', '<img src=x onerror=alert(1)>.png'],
  ] as const) {
    it(`stores ${JSON.stringify(sent).slice(0, 40)} as ${JSON.stringify(kept).slice(0, 40)}`, async () => {
      const { world, ann, record } = here();
      const made = await uploaded(ann.api, record, 'x', { filename: sent });
      expect(made.filename).to.equal(kept);
      const { headers, status } = await download(world.server, ann.token, made.id);
      const disposition = headers.get('content-disposition') ?? '';
      expect(status).to.equal(200);
      expect(disposition).to.match(/^[\x20-\x7e]+$/);
      const { type, parameters } = parse(disposition);
      expect([type, parameters.filename]).to.deep.equal(['attachment', kept]);
    });
  }

  it('names a file without a name “file”', async () => {
    const { ann, record } = here();
    const type = 'application/octet-stream';
    expect((await uploaded(ann.api, record, 'x', { filename: '', type })).filename).to.equal('file');
  });

  it('stores a content type without parameters, and an invalid one as application/octet-stream', async () => {
    const { ann, record } = here();
    expect((await uploaded(ann.api, record, 'x', { type: 'text/csv; charset=utf-8' })).content_type).to.equal(
      'text/csv',
    );
    const made = await uploaded(ann.api, record, 'x', { type: `text/${'x'.repeat(200)}` });
    expect(made.content_type).to.equal('application/octet-stream');
  });

  it('refuses invalid bodies, and stores nothing', async () => {
    const { world, ann, record } = here();
    const before = await ownBlobs();
    const send = (raw: Uint8Array | string, type: string, to = record) =>
      ann.api.post(filesOf(to), undefined, {
        raw: typeof raw === 'string' ? raw : new Uint8Array(raw),
        headers: { 'content-type': type },
      });
    const good = formWith('hello');
    const other = { ...record, id: randomUUID() };
    for (const [answer, status, error] of [
      [await send('{}', 'application/json'), 415, 'unsupported_media_type'],
      [await send('{}', 'application/json', other), 415, 'unsupported_media_type'],
      [await send(good, 'multipart/form-data'), 400, 'validation_failed'],
      [await send(good, 'multipart/form-data; boundary=another'), 400, 'validation_failed'],
      [await send(good.subarray(0, -8), MULTIPART), 400, 'validation_failed'],
      [
        await send(Buffer.from(String(good).replace('"file"', '"else"')), MULTIPART),
        400,
        'validation_failed',
      ],
      [await send(good, MULTIPART, other), 404, 'not_found'],
      [await send(good, MULTIPART, { ...record, entity: 'other_entity' }), 404, 'not_found'],
      [await send(good, MULTIPART, { ...record, id: 'no-id' }), 404, 'not_found'],
      [await world.anybody.post(filesOf(record), {}), 401, 'unauthenticated'],
      [await world.anybody.post(filesOf(other), {}), 401, 'unauthenticated'],
    ] as const) {
      expect([answer.status, answer.error], answer.text).to.deep.equal([status, error]);
    }
    expect(await ownBlobs()).to.deep.equal(before);
  });

  it('lists the files of a record newest first, in pages', async () => {
    const { tenant, ann, record } = here();
    const own = await newRecord(tenant, record.entity);
    const made: File[] = [];
    for (const filename of ['1.txt', '2.txt', '3.txt'])
      made.push(await uploaded(ann.api, own, filename, { filename }));
    const list = (await ann.api.get(filesOf(own))).as(files);
    const newestFirst = [...made].sort((a, b) => b.created_at.localeCompare(a.created_at));
    expect(list.map(({ created_at }) => created_at)).to.deep.equal(
      newestFirst.map(({ created_at }) => created_at),
    );
    expect(list).to.have.deep.members(made);
    const paged: string[] = [];
    let next: string | undefined = `${filesOf(own)}?limit=2`;
    while (next !== undefined) {
      const page = await ann.api.get(next);
      paged.push(...page.as(files).map(({ id }) => id));
      next = /^<([^>]+)>; rel="next"$/.exec(page.header('link') ?? '')?.[1];
    }
    expect(paged).to.deep.equal(list.map(({ id }) => id));
    expect((await ann.api.get(`${filesOf(own)}?cursor=nonsense`)).status).to.equal(400);
    expect((await ann.api.get(filesOf({ ...own, entity: 'other_entity' }))).status).to.equal(404);
    const empty = await newRecord(tenant, record.entity);
    expect((await ann.api.get(filesOf(empty))).as(files)).to.deep.equal([]);
  });

  it('accepts many concurrently, each with its own bytes', async () => {
    const { tenant, ann, record } = here();
    const own = await newRecord(tenant, record.entity);
    const contents = Array.from({ length: 25 }, (_, i) =>
      Buffer.concat([randomBytes(80_000), Buffer.from([i])]),
    );
    const made = await Promise.all(contents.map((content) => uploaded(ann.api, own, content)));
    expect(made.map((one) => one.sha256)).to.deep.equal(contents.map(sha256));
    expect((await ann.api.get(filesOf(own))).as(files)).to.have.length(25);
  });

  it('has one effect per Idempotency-Key, and refuses the key for another file', async () => {
    const { world, tenant, ann, record } = here();
    const own = await newRecord(tenant, record.entity);
    const headers = { 'idempotency-key': randomUUID() };
    const first = await upload(ann.api, own, 'the same', { headers });
    const made = first.as(file, 201);
    const blobs = (await ownBlobs()).whole.length;
    const again = await upload(ann.api, own, 'the same', { headers });
    expect([again.status, again.text, again.header('idempotency-replayed')]).to.deep.equal([
      201,
      first.text,
      'true',
    ]);
    expect(again.header('x-event-position')).to.equal(first.header('x-event-position'));
    for (const changed of [
      await upload(ann.api, own, 'another', { headers }),
      await upload(ann.api, own, 'the same', { headers, filename: 'other.txt' }),
      await upload(ann.api, record, 'the same', { headers }),
    ]) {
      expect([changed.status, changed.error]).to.deep.equal([422, 'idempotency_key_reused']);
    }
    const many = await Promise.all(
      Array.from({ length: 8 }, () =>
        upload(ann.api, own, 'eight', { headers: { 'idempotency-key': 'eight' } }),
      ),
    );
    expect(new Set(many.map(({ text }) => text)).size).to.equal(1);
    expect((await ann.api.get(filesOf(own))).as(files)).to.have.length(2);
    expect((await ownBlobs()).whole).to.have.length(blobs + 1);
    expect(String((await download(world.server, ann.token, made.id)).bytes)).to.equal('the same');
  });

  it('requires the scope of each route from API tokens', async () => {
    const { world, tenant, record } = here();
    const own = await newRecord(tenant, record.entity);
    const mint = async (...scopes: string[]) => {
      const answer = await tenant.admin.api.post(API_TOKENS, { name: 'a token', scopes });
      return answer.as(mintedToken, 201).token;
    };
    const [reading, writing, other] = [
      await mint('files:read'),
      await mint('files:write'),
      await mint('data:write'),
    ];
    const [reader, writer] = [world.anybody.with(reading), world.anybody.with(writing)];
    const made = await uploaded(writer, own, 'by a token');
    expect((await reader.get(filesOf(own))).as(files)).to.deep.equal([made]);
    expect((await download(world.server, reading, made.id)).status).to.equal(200);
    for (const answer of [
      await upload(reader, own, 'x'),
      await reader.delete(`${FILES}/${made.id}`),
      await writer.get(filesOf(own)),
      await upload(world.anybody.with(other), own, 'x'),
      await world.anybody.with(other).get(filesOf(own)),
    ]) {
      expect([answer.status, answer.error]).to.deep.equal([403, 'scope_missing']);
    }
    expect((await download(world.server, writing, made.id)).status).to.equal(403);
    expect((await writer.delete(`${FILES}/${made.id}`)).status).to.equal(204);
  });
});
