import { randomBytes, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { expect } from 'chai';
import { deleteRecord, newRecord } from '../../support/records.ts';
import { eventually } from '../../support/server.ts';
import { forSuite } from '../../support/suite.ts';
import {
  blobsIn,
  download,
  FILES,
  type File,
  files,
  filesOf,
  openBlobs,
  sha256,
  uploaded,
} from '../../support/uploads.ts';
import { annAndRecord } from './support.ts';

describe('Downloading files', () => {
  const here = forSuite(() => annAndRecord());
  const ownBlobs = () => blobsIn(here().world.server.dataDir, here().tenant.id);

  const get = (id: string, headers: Record<string, string> = {}, method = 'GET') =>
    download(here().world.server, here().ann.token, id, { headers, method });

  it('never displays a page, picture or script in the browser', async () => {
    const { ann, record } = here();
    const page = '<!doctype html><script>alert(document.domain)</script>';
    for (const [type, shown] of [
      ['text/html', 'application/octet-stream'],
      ['application/xhtml+xml', 'application/octet-stream'],
      ['image/svg+xml', 'application/octet-stream'],
      ['text/xml', 'application/octet-stream'],
      ['text/javascript', 'application/octet-stream'],
      ['multipart/x-mixed-replace', 'application/octet-stream'],
      ['image/png', 'image/png'],
      ['application/pdf', 'application/pdf'],
      ['text/plain', 'text/plain'],
    ] as const) {
      const made = await uploaded(ann.api, record, page, { filename: 'page.html', type });
      expect(made.content_type, 'the given type is stored').to.equal(type);
      const { status, headers, bytes } = await get(made.id);
      expect([status, String(bytes)]).to.deep.equal([200, page]);
      expect(headers.get('content-type')).to.equal(shown);
      expect(headers.get('content-disposition')).to.equal('attachment; filename=page.html');
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('content-security-policy')).to.equal("sandbox; default-src 'none'");
      expect(headers.get('cache-control')).to.equal('no-store');
    }
  });

  it('gives size and digest, also for HEAD', async () => {
    const { world, ann, record } = here();
    const content = randomBytes(200_000);
    const made = await uploaded(ann.api, record, content);
    const [whole, head] = [await get(made.id), await get(made.id, {}, 'HEAD')];
    expect(head.bytes.length).to.equal(0);
    expect(head.status).to.equal(200);
    for (const { headers } of [whole, head]) {
      expect(headers.get('content-length')).to.equal('200000');
      expect(headers.get('etag')).to.equal(`"${sha256(content)}"`);
    }
    const same = await get(made.id, { 'if-none-match': `"x", W/"${made.sha256}"` });
    expect([same.status, same.bytes.length]).to.deep.equal([304, 0]);
    expect((await get(made.id, { 'if-none-match': '"x"' })).status).to.equal(200);
    await eventually('all closed', async () => (await openBlobs(world.server)) === 0);
  });

  it('gives a part of a file', async () => {
    const { ann, record } = here();
    const content = randomBytes(100_000);
    const made = await uploaded(ann.api, record, content);
    for (const [range, first, last] of [
      ['bytes=0-9', 0, 9],
      ['bytes=99990-', 99_990, 99_999],
      ['bytes=-5', 99_995, 99_999],
      ['bytes=70000-200000', 70_000, 99_999],
    ] as const) {
      const part = await get(made.id, { range });
      expect(part.status).to.equal(206);
      expect(part.bytes).to.deep.equal(content.subarray(first, last + 1));
      expect(part.headers.get('content-range')).to.equal(`bytes ${first}-${last}/100000`);
      expect(part.headers.get('content-length')).to.equal(String(last - first + 1));
    }
    for (const headers of [
      { range: 'bytes=100000-' },
      { range: 'bytes=0-1,5-6' },
      { range: 'bytes=0-9', 'if-range': '"an older one"' },
    ]) {
      const all = await get(made.id, headers);
      expect([all.status, all.bytes.length]).to.deep.equal([200, 100_000]);
    }
    expect((await get(made.id, { range: 'bytes=0-9', 'if-range': `"${made.sha256}"` })).status).to.equal(206);
  });

  it('answers unknown, malformed, deleted and foreign ids with the same bytes', async () => {
    const { world, ann, record } = here();
    const gone = await uploaded(ann.api, record, 'gone');
    expect((await ann.api.delete(`${FILES}/${gone.id}`)).status).to.equal(204);
    const other = await world.tenant();
    const foreign = await uploaded(other.admin.api, await newRecord(other), 'foreign');
    const seen = new Set<string>();
    for (const id of [randomUUID(), 'x', '..', gone.id, foreign.id, foreign.id.toUpperCase()]) {
      for (const answer of [
        await ann.api.get(`${FILES}/${encodeURIComponent(id)}/content`),
        await ann.api.delete(`${FILES}/${encodeURIComponent(id)}`),
      ]) {
        seen.add(`${answer.status} ${answer.text} ${answer.header('content-type')}`);
      }
    }
    expect([...seen]).to.have.length(1);
    expect([...seen][0]).to.match(/^404 /);
    expect((await download(world.server, other.admin.token, foreign.id)).status).to.equal(200);
  });

  it('removes a deleted file from list and disk, and keeps the others', async () => {
    const { tenant, ann, record } = here();
    const own = await newRecord(tenant, record.entity);
    const [kept, gone] = [await uploaded(ann.api, own, 'kept'), await uploaded(ann.api, own, 'gone')];
    const before = (await ownBlobs()).whole.length;
    const answer = await ann.api.delete(`${FILES}/${gone.id}`);
    expect([answer.status, answer.text]).to.deep.equal([204, '']);
    expect(answer.header('x-event-position')).to.be.a('string');
    expect((await ann.api.get(filesOf(own))).as(files)).to.deep.equal([kept]);
    const { whole } = await ownBlobs();
    expect(whole).to.have.length(before - 1);
    expect(whole.some((path) => path.includes(gone.id))).to.equal(false);
  });

  it('lets one of many concurrent deletions win', async () => {
    const { ann, record } = here();
    const { id } = await uploaded(ann.api, record, 'x');
    const answers = await Promise.all(Array.from({ length: 8 }, () => ann.api.delete(`${FILES}/${id}`)));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([204, ...Array(7).fill(404)]);
  });

  /** A download whose reader stalls after the first bytes. */
  const begin = (id: string) =>
    new Promise<{ rest: () => Promise<number>; abort: () => void }>((resolve, reject) => {
      const { world, ann } = here();
      const headers = { authorization: `Bearer ${ann.token}` };
      const outgoing = request(`${world.server.base}${FILES}/${id}/content`, { headers }, (response) => {
        let size = 0;
        response.once('readable', () => {
          size += (response.read() as Buffer | null)?.length ?? 0;
          resolve({
            rest: async () => {
              for await (const chunk of response) size += (chunk as Buffer).length;
              return size;
            },
            abort: () => void outgoing.destroy(),
          });
        });
      });
      outgoing.on('error', reject);
      outgoing.end();
    });

  it('leaves no descriptor open when aborted', async () => {
    const { world, ann, record } = here();
    const made = await uploaded(ann.api, record, randomBytes(20_000_000));
    const readers = await Promise.all(Array.from({ length: 10 }, () => begin(made.id)));
    expect(await openBlobs(world.server)).to.be.greaterThan(0);
    for (const reader of readers) reader.abort();
    await eventually('all closed', async () => (await openBlobs(world.server)) === 0);
    expect((await get(made.id)).bytes.length).to.equal(20_000_000);
  });

  it('can complete when the file is deleted meanwhile', async () => {
    const { world, ann, record } = here();
    const made = await uploaded(ann.api, record, randomBytes(20_000_000));
    const reader = await begin(made.id);
    expect((await ann.api.delete(`${FILES}/${made.id}`)).status).to.equal(204);
    expect((await get(made.id)).status).to.equal(404);
    expect(await reader.rest()).to.equal(20_000_000);
    await eventually('all closed', async () => (await openBlobs(world.server)) === 0);
  });

  it('answers 404 at once for files of a deleted record and deletes their bytes', async () => {
    const { tenant, ann, record } = here();
    const own = await newRecord(tenant, record.entity);
    const made: File[] = [];
    for (let i = 0; i < 5; i += 1) made.push(await uploaded(ann.api, own, `file ${i}`));
    await deleteRecord(tenant, own);
    const views = await Promise.all(made.map(({ id }) => ann.api.get(`${FILES}/${id}`)));
    expect(views.map(({ status }) => status)).to.deep.equal(made.map(() => 404));
    expect((await ann.api.get(filesOf(own))).status).to.equal(404);
    for (const { id } of made) {
      expect((await get(id)).status).to.equal(404);
      expect((await ann.api.delete(`${FILES}/${id}`)).status).to.equal(404);
    }
    await eventually('their bytes are gone', async () => {
      const { whole } = await ownBlobs();
      return !made.some(({ id }) => whole.some((path) => path.endsWith(id)));
    });
  });
});
