import { randomBytes } from 'node:crypto';
import { copyFile, utimes } from 'node:fs/promises';
import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { deleteRecord, newRecord } from '../../support/records.ts';
import { eventually } from '../../support/server.ts';
import { forSuite } from '../../support/suite.ts';
import {
  beginUpload,
  blobsIn,
  download,
  FILE_LIMIT,
  type File,
  file,
  files,
  filesOf,
  formWith,
  MULTIPART,
  memoryOf,
  openBlobs,
  sha256,
  upload,
  uploaded,
} from '../../support/uploads.ts';
import { startWorld } from '../../support/world.ts';
import { annAndRecord } from './support.ts';

describe('Files under faults', () => {
  const here = forSuite(() => annAndRecord(startWorld));

  const halves = async (): Promise<number> => (await blobsIn(here().world.server.dataDir)).half.length;

  const age = async (paths: readonly string[]): Promise<void> => {
    const old = new Date(Date.now() - 2 * 3_600_000);
    for (const path of paths) await utimes(path, old, old);
  };

  it('uploads of disconnected clients leave nothing', async () => {
    const { world, ann, record } = here();
    const before = (await blobsIn(world.server.dataDir)).whole;
    const begun = Array.from({ length: 5 }, () =>
      beginUpload(world.server, ann.token, record, randomBytes(2_000_000)),
    );
    await eventually('all are being written', async () => (await halves()) === 5);
    for (const one of begun) one.abort();
    await eventually('nothing is half', async () => (await halves()) === 0);
    expect((await blobsIn(world.server.dataDir)).whole).to.deep.equal(before);
    expect((await ann.api.get(filesOf(record))).as(files)).to.deep.equal([]);
    await eventually('all closed', async () => (await openBlobs(world.server)) === 0);
  });

  it('memory stays bounded during twelve concurrent uploads of 25 MiB', async () => {
    const { world, ann, record } = here();
    const content = randomBytes(FILE_LIMIT);
    await uploaded(ann.api, record, content);
    const before = await memoryOf(world.server);
    const form = new Uint8Array(formWith(content));
    const answers = await Promise.all(
      Array.from({ length: 12 }, () =>
        ann.api.post(filesOf(record), undefined, { raw: form, headers: { 'content-type': MULTIPART } }),
      ),
    );
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(12).fill(201));
    const { highest } = await memoryOf(world.server);
    // Twelve uploads buffered in memory would take 300 MiB.
    expect(highest - before.now, 'MiB').to.be.lessThan(200);
    const digest = sha256(content);
    for (const { json } of answers) expect(json).to.have.property('sha256', digest);
  }).timeout(60_000);

  it('kill -9 loses no answered upload, and its leftovers are removed', async () => {
    const { world, tenant, ann, record } = here();
    const own = await newRecord(tenant, record.entity);
    const kept = await uploaded(ann.api, own, 'kept');
    const begun = beginUpload(world.server, ann.token, own, randomBytes(3_000_000));
    await eventually('it is being written', async () => (await halves()) === 1);
    const { whole } = await blobsIn(world.server.dataDir);
    await world.server.kill();
    begun.abort();
    const blob = whole.find((path) => path.endsWith(kept.id)) ?? '';
    // The orphan imitates a kill after the bytes were stored and before the event was appended.
    const orphan = blob.replace(kept.id, `${kept.id.slice(0, 24)}00000000${kept.id.slice(32)}`);
    await copyFile(blob, orphan);
    const left = await blobsIn(world.server.dataDir);
    expect([left.half.length, left.whole.length]).to.deep.equal([1, whole.length + 1]);

    await world.restart();
    await world.ready();
    expect((await ann.api.get(filesOf(own))).as(files)).to.deep.equal([kept]);
    expect(String((await download(world.server, ann.token, kept.id)).bytes)).to.equal('kept');
    expect(await halves(), 'it is too young to be swept').to.equal(1);

    await world.server.stop();
    await age([...left.whole, ...left.half]);
    await world.restart();
    await eventually('the rest is swept up', async () => (await halves()) === 0);
    await eventually(
      'the orphan too',
      async () => !(await blobsIn(world.server.dataDir)).whole.includes(orphan),
    );
    await world.ready();
    expect((await blobsIn(world.server.dataDir)).whole.sort()).to.deep.equal([...whole].sort());
    expect(String((await download(world.server, ann.token, kept.id)).bytes)).to.equal('kept');
  }).timeout(60_000);

  it('kill -9 at any moment leaves one file per Idempotency-Key, with its bytes', async () => {
    const { world, tenant, ann, record } = here();
    const own = await newRecord(tenant, record.entity);
    for (const [round, afterMs] of [150, 600].entries()) {
      const sent = new Set<string>();
      const send = async (key: string): Promise<boolean> => {
        sent.add(key);
        try {
          (await upload(ann.api, own, `bytes of ${key}`, { headers: { 'idempotency-key': key } })).as(
            file,
            201,
          );
          return true;
        } catch (error) {
          // Only the connection may fail: a kill does not explain a wrong answer.
          if (error instanceof TypeError) return false;
          throw error;
        }
      };
      const write = async (writer: number): Promise<void> => {
        for (let i = 0; await send(`${round}-${writer}-${i}`); i += 1);
      };
      const writers = [0, 1, 2, 3].map(write);
      setTimeout(() => world.server.signal('SIGKILL'), afterMs);
      await Promise.all(writers);
      await world.restart();
      await world.ready();
      for (const key of sent) expect(await send(key), key).to.equal(true);
      const list: File[] = [];
      let next: string | undefined = `${filesOf(own)}?limit=200`;
      while (next !== undefined) {
        const page = await ann.api.get(next);
        list.push(...page.as(files));
        next = /^<([^>]+)>/.exec(page.header('link') ?? '')?.[1];
      }
      const digests = list.map((one) => one.sha256);
      expect(new Set(digests).size, 'doubled').to.equal(digests.length);
      for (const key of sent) expect(digests, key).to.include(sha256(`bytes of ${key}`));
      for (const { id, sha256: digest } of list.slice(0, 20)) {
        expect(sha256((await download(world.server, ann.token, id)).bytes)).to.equal(digest);
      }
    }
  }).timeout(60_000);

  it('no file outlives its record when uploads and deletions race', async () => {
    const { world, tenant, ann, record } = here();
    const own = await newRecord(tenant, record.entity);
    const answers: Promise<Answer>[] = [];
    const begin = (i: number) =>
      answers.push(upload(ann.api, own, `race ${i}`, { headers: { 'idempotency-key': `race-${i}` } }));
    for (let i = 0; i < 10; i += 1) begin(i);
    await answers[3];
    for (let i = 10; i < 20; i += 1) begin(i);
    answers.push(deleteRecord(tenant, own).then(() => ann.api.get(filesOf(own))));
    for (let i = 20; i < 30; i += 1) begin(i);
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect([...new Set(statuses)].sort()).to.deep.equal([201, 404]);
    const made = (await Promise.all(answers)).flatMap(({ status, json }) =>
      status === 201 ? [file.parse(json)] : [],
    );
    await eventually('their bytes are gone', async () => {
      const { whole } = await blobsIn(world.server.dataDir);
      return !made.some(({ id }) => whole.some((path) => path.endsWith(id)));
    });
    for (const { id } of made) expect((await download(world.server, ann.token, id)).status).to.equal(404);
  });

  it('an upload that is under way at a stop completes', async () => {
    const { world, tenant, ann, record } = here();
    const own = await newRecord(tenant, record.entity);
    // Leftovers of earlier kills are too recent to be removed.
    const left = await halves();
    const begun = beginUpload(world.server, ann.token, own, randomBytes(1_000_000));
    await eventually('it is being written', async () => (await halves()) === left + 1);
    const stopped = world.server.stop();
    expect(await begun.finish()).to.equal(201);
    expect((await stopped).code).to.equal(0);
    await world.restart();
    await world.ready();
    expect((await ann.api.get(filesOf(own))).as(files)).to.have.length(1);
    expect(await halves()).to.equal(left);
  }).timeout(30_000);
});
