import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { GridFSBucket, MongoError } from 'mongodb';
import type { BlobRef, BlobStore, StoredBlob } from '../../application/ports/blob-store.ts';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { call, insertOnce, type Row } from '../mongodb/calls.ts';
import { type MongoOptions, openDurableDatabase } from '../mongodb/durable-database.ts';
import { checkRef, guarded, isBlobId, isTenantId, measure } from './refs.ts';

/**
 * Blobs in the GridFS bucket `blobs`. Each put is a GridFS file of its own; where it lies is its `filename`,
 * `<tenant>/<id>`, so that a move is one update. `blobs.unfinished` notes what is being written or removed: GridFS stores
 * the pieces before the file, and nobody could find those of a process that died.
 * @throws {StoreUnavailable}
 */
export async function openGridFsBlobStore(options: MongoOptions): Promise<BlobStore> {
  const { db, ping, close } = await openDurableDatabase(options);
  const bucket = new GridFSBucket(db, { bucketName: 'blobs' });
  const files = db.collection<Row>('blobs.files');
  const chunks = db.collection('blobs.chunks');
  const notes = db.collection<Row>('blobs.unfinished');

  /** The file first: a file without its pieces would be a broken blob. Its note lets `tidy` find pieces that stay. */
  const remove = async (putId: string): Promise<void> => {
    await call(() => insertOnce(notes, { _id: putId, at: new Date() }));
    await call(() => files.deleteOne({ _id: putId }));
    await call(() => chunks.deleteMany({ files_id: putId }));
    await call(() => notes.deleteOne({ _id: putId }));
  };

  const newestAt = (ref: BlobRef): Promise<Row | null> =>
    call(() => files.findOne({ filename: nameOf(ref) }, { sort: { uploadDate: -1 } }));

  /** One piece after the other, so that none is on its way any more when the source fails. */
  const write = async (putId: string, ref: BlobRef, source: Readable): Promise<StoredBlob> => {
    const { add, total } = measure();
    // The driver takes any value as an id; its types know only its own.
    const target = bucket.openUploadStreamWithId(putId as never, nameOf(ref));
    target.on('error', () => undefined);
    for await (const chunk of source) {
      add(chunk);
      await called((done) => target.write(chunk, done));
    }
    await called((done) => target.end(done));
    return total();
  };

  return {
    put: async (ref, source) => {
      checkRef(ref);
      guarded(source);
      const putId = randomUUID();
      try {
        await call(() => insertOnce(notes, { _id: putId, at: new Date() }));
        const stored = await write(putId, ref, source);
        await call(() => notes.deleteOne({ _id: putId }));
        return stored;
      } catch (error) {
        source.destroy();
        // What cannot be removed now has its note, and `tidy` finds it.
        await remove(putId).catch(() => undefined);
        throw unavailable(error);
      }
    },

    move: async (from, toId) => {
      const to = { ...from, id: toId };
      checkRef(from);
      checkRef(to);
      const present = { filename: nameOf(to), uploadDate: new Date() };
      await call(() => files.updateMany({ filename: nameOf(from) }, { $set: present }));
    },

    open: async (ref, range) => {
      checkRef(ref);
      const file = await newestAt(ref);
      if (file === null) return undefined;
      const ends = range === undefined ? {} : { start: range.first, end: range.last + 1 };
      return { size: Number(file.length), stream: bucket.openDownloadStream(file._id as never, ends) };
    },

    delete: async (ref, before) => {
      checkRef(ref);
      const older = before === undefined ? {} : { uploadDate: { $lt: new Date(before) } };
      const found = await call(() => files.find({ filename: nameOf(ref), ...older }).toArray());
      for (const file of found) await remove(file._id);
    },

    list: async function* () {
      for await (const file of files.find({}, { projection: { filename: 1, uploadDate: 1 } })) {
        const [tenantId = '', id = ''] = String(file.filename).split('/');
        if (isTenantId(tenantId) && isBlobId(id) && file.uploadDate instanceof Date)
          yield { ref: { tenantId, id }, at: file.uploadDate.getTime() };
      }
    },

    tidy: async (before) => {
      const left = await call(() => notes.find({ at: { $lt: new Date(before) } }).toArray());
      for (const { _id } of left) {
        // A put that was whole and only did not come to take its note away is a blob like any other.
        const whole = await call(() => files.findOne({ _id }));
        if (whole === null) await remove(_id);
        else await call(() => notes.deleteOne({ _id }));
      }
    },

    ping,
    close,
  };
}

const called = (work: (done: (error?: Error | null) => void) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    work((error) => (error ? reject(error) : resolve()));
  });

const nameOf = ({ tenantId, id }: BlobRef): string => `${tenantId}/${id}`;

const unavailable = (error: unknown): unknown =>
  error instanceof MongoError
    ? new StoreUnavailable('MongoDB did not take the file', { cause: error })
    : error;
