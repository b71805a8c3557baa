import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { openGridFsBlobStore } from '../../infrastructure/blob-store/gridfs.ts';
import { describeWithMongo } from '../support/mongodb-server.ts';
import { blobStoreContract } from './blob-store.ts';

await describeWithMongo('blob store contract', (title, start) => {
  blobStoreContract(title, async () => {
    const { url, dbName, dispose } = start();
    const client = new MongoClient(url);
    const db = client.db(dbName);
    const chunks = db.collection<{ files_id: string; n: number; data: Buffer }>('blobs.chunks');
    const files = db.collection<{ _id: string }>('blobs.files');
    const notes = db.collection<{ _id: string; at: Date }>('blobs.unfinished');
    return {
      open: () => openGridFsBlobStore({ url, dbName }),
      leftovers: async () => {
        const whole = new Set((await files.find().toArray()).map(({ _id }) => _id));
        const parts = await chunks.find({}, { projection: { files_id: 1 } }).toArray();
        return parts.filter(({ files_id }) => !whole.has(files_id)).length + (await notes.countDocuments());
      },
      abandonPut: async (_store, at) => {
        const _id = randomUUID();
        await notes.insertOne({ _id, at: new Date(at) });
        await chunks.insertOne({ files_id: _id, n: 0, data: Buffer.from('half a fi') });
      },
      dispose: async () => {
        await client.close();
        await dispose();
      },
    };
  });
});
