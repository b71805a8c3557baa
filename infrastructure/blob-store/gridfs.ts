import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { GridFSBucket, MongoError } from 'mongodb';
import type { BlobRef, BlobStore, StoredBlob } from '../../application/ports/blob-store.ts';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { call, insertOnce, type Row } from '../mongodb/calls.ts';
import { type MongoOptions, openDurableDatabase } from '../mongodb/database.ts';
import { checkRef, guarded, isBlobId, isTenantSegment, measure } from './refs.ts';

/** The driver accepts any value as an id, but its types allow only `ObjectId`. */
declare module 'mongodb' {
  interface GridFSBucket {
    openUploadStreamWithId(id: string, filename: string): GridFSBucketWriteStream;
    openDownloadStream(id: string, options?: GridFSBucketReadStreamOptions): GridFSBucketReadStream;
  }
}

/**
 * Stores blobs in the GridFS bucket `blobs`. Each put is one GridFS file with the `filename` `<tenant>/<id>`, so that
 * a move is one update. GridFS writes chunks before the file document, so `blobs.unfinished` records files that are
 * being written or removed. From these records `tidy` finds the chunks that a dead process left.
 * @throws {StoreUnavailable}
 */
export async function openGridFsBlobStore(options: MongoOptions): Promise<BlobStore> {
  const { db, ping, close } = await openDurableDatabase(options);
  const bucket = new GridFSBucket(db, { bucketName: 'blobs' });
  const files = db.collection<Row>('blobs.files');
  const chunks = db.collection('blobs.chunks');
  const notes = db.collection<Row>('blobs.unfinished');

  /**
   * Deletes the file document before its chunks: a file without chunks would be a broken blob. The record lets `tidy`
   * find chunks that a failure leaves.
   */
  const remove = async (putId: string): Promise<void> => {
    await call(() => insertOnce(notes, { _id: putId, at: new Date() }));
    await call(() => files.deleteOne({ _id: putId }));
    await call(() => chunks.deleteMany({ files_id: putId }));
    await call(() => notes.deleteOne({ _id: putId }));
  };

  const newestAt = (ref: BlobRef): Promise<Row | null> =>
    call(() => files.findOne({ filename: nameOf(ref) }, { sort: { uploadDate: -1 } }));

  /** Writes one chunk after the other, so that none is in flight when the source fails. */
  const write = async (putId: string, ref: BlobRef, source: Readable): Promise<StoredBlob> => {
    const { add, total } = measure();
    const target = bucket.openUploadStreamWithId(putId, nameOf(ref));
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
        // A file that cannot be removed now keeps its record, and `tidy` removes it later.
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
      const newestFirst = () => files.find({ filename: nameOf(to) }, { sort: { uploadDate: -1 } }).toArray();
      const [, ...replaced] = await call(newestFirst);
      for (const { _id } of replaced) await remove(_id);
    },

    open: async (ref, range) => {
      checkRef(ref);
      const file = await newestAt(ref);
      if (file === null) return undefined;
      const ends = range === undefined ? {} : { start: range.first, end: range.last + 1 };
      return { size: Number(file.length), stream: bucket.openDownloadStream(file._id, ends) };
    },

    delete: async (ref, before) => {
      checkRef(ref);
      const older = before === undefined ? {} : { uploadDate: { $lt: new Date(before) } };
      const found = await call(() => files.find({ filename: nameOf(ref), ...older }).toArray());
      for (const file of found) await remove(file._id);
    },

    list: async function* () {
      try {
        for await (const file of files.find({}, { projection: { filename: 1, uploadDate: 1 } })) {
          const [tenantId = '', id = ''] = String(file.filename).split('/');
          if (isTenantSegment(tenantId) && isBlobId(id) && file.uploadDate instanceof Date)
            yield { ref: { tenantId, id }, at: file.uploadDate.getTime() };
        }
      } catch (error) {
        throw unavailable(error);
      }
    },

    tidy: async (before) => {
      const left = await call(() => notes.find({ at: { $lt: new Date(before) } }).toArray());
      for (const { _id } of left) {
        // If the process died after the file was whole but before its record was removed, the file is a valid blob.
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
    ? new StoreUnavailable('MongoDB does not serve the files', { cause: error })
    : error;
