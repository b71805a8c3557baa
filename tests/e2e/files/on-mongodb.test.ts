import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { describeWithMongo } from '../../support/mongodb-server.ts';
import { onMongo } from '../../support/mongodb-world.ts';
import { deleteRecord, newRecord } from '../../support/records.ts';
import { eventually } from '../../support/server.ts';
import {
  beginUpload,
  download,
  FILES,
  files,
  filesOf,
  sha256,
  upload,
  uploaded,
} from '../../support/uploads.ts';

await describeWithMongo('Files in GridFS', (title, start) => {
  describe(title, () => {
    const on = onMongo(start);

    const count = (name: string): Promise<number> => on().db.collection(`blobs.${name}`).countDocuments();

    it('are uploaded, listed, downloaded whole and in parts, and deleted', async () => {
      const { world } = on();
      const tenant = await world.tenant();
      const { api, token } = tenant.admin;
      const record = await newRecord(tenant);
      // Three chunks of GridFS.
      const content = randomBytes(700_000);
      const made = await uploaded(api, record, content, { filename: 'ü.bin' });
      expect([made.size, made.sha256]).to.deep.equal([content.length, sha256(content)]);
      // A server of the suite that has just started may be behind for longer than a request waits.
      const listed = await eventually('the list', async () => {
        const answer = await api.get(filesOf(record));
        return answer.status !== 503 && answer.as(files);
      });
      expect(listed).to.deep.equal([made]);
      expect((await download(world.server, token, made.id)).bytes.equals(content)).to.equal(true);
      const part = await download(world.server, token, made.id, {
        headers: { range: 'bytes=200000-599999' },
      });
      expect(part.bytes.equals(content.subarray(200_000, 600_000))).to.equal(true);
      expect((await api.delete(`${FILES}/${made.id}`)).status).to.equal(204);
      expect((await download(world.server, token, made.id)).status).to.equal(404);
      // The request and the subscriber both delete, and neither waits for the other.
      await eventually('nothing is left', async () => {
        return (await count('files')) + (await count('chunks')) + (await count('unfinished')) === 0;
      });
    });

    it('are stored once per Idempotency-Key, deleted with their record, and leave nothing when aborted', async () => {
      const { world } = on();
      const tenant = await world.tenant();
      const { api, token } = tenant.admin;
      const record = await newRecord(tenant);
      const headers = { 'idempotency-key': 'once' };
      const answers = await Promise.all([1, 2, 3].map(() => upload(api, record, 'once', { headers })));
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      await eventually('one is left', async () => (await count('files')) === 1);
      const begun = beginUpload(world.server, token, record, randomBytes(800_000));
      await eventually('it is being written', async () => (await count('unfinished')) === 1);
      begun.abort();
      await eventually('it is gone', async () => (await count('unfinished')) === 0);
      await eventually('the other is left', async () => (await count('chunks')) === 1);
      expect(await count('files')).to.equal(1);
      await deleteRecord(tenant, record);
      await eventually('its bytes are gone', async () => (await count('chunks')) === 0, 15_000);
    });
  });
});
