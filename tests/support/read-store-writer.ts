import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { leaseNameOf } from '../../application/ports/read-store.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { positionOf } from '../../infrastructure/read-store/stored-values.ts';

/** A worker thread that folds into its own generation, in a file that other threads write too. */
const { path, tag, batches } = z
  .object({ path: z.string(), tag: z.string(), batches: z.number() })
  .parse(workerData);
const generation = { projection: 'shared', tag };
const store = await openSqliteReadStore({ path });
await store.prepare(generation, [
  {
    name: 'docs',
    indexes: [
      { name: 'by_n', fields: ['n'] },
      { name: 'by_who', fields: ['who.id', 'n'], multi: 'who.id' },
    ],
  },
]);
const lease = await store.acquireLease(leaseNameOf(generation), tag, 60_000);
for (let batch = 1; batch <= batches; batch += 1) {
  const position = positionOf(String(batch).padStart(8, '0'));
  const writes = Array.from({ length: 50 }, (_, n) => ({
    collection: 'docs',
    tenant: 'acme',
    id: `${(batch * 50 + n) % 1_000}`,
    position,
    value: { n: batch, who: [{ id: 'ann' }, { id: 'bob' }], text: 'x'.repeat(200) },
  }));
  await store.commit({ generation, fence: lease?.fence ?? 0, writes, checkpoint: position });
}
await store.close();
parentPort?.postMessage('done');
