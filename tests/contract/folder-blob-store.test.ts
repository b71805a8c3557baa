import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { openFolderBlobStore } from '../../infrastructure/blob-store/folder.ts';
import { rejection } from '../support/eventually.ts';
import { blobStoreContract } from './blob-store.ts';

blobStoreContract('folder', async () => {
  const path = await mkdtemp(join(tmpdir(), 'blob-store-'));
  const incoming = join(path, '.incoming');
  return {
    open: () => openFolderBlobStore({ path }),
    leftovers: async () => (await readdir(incoming)).length,
    abandonPut: async (_store, at) => {
      const part = join(incoming, randomUUID());
      await writeFile(part, 'half a fi');
      await utimes(part, new Date(at), new Date(at));
    },
    dispose: () => rm(path, { recursive: true }),
  };
});

describe('A blob folder that cannot be used', () => {
  it('is reported as an unavailable store by each method', async () => {
    const path = await mkdtemp(join(tmpdir(), 'blob-store-'));
    const store = await openFolderBlobStore({ path });
    await rm(path, { recursive: true });
    await writeFile(path, 'no folder');
    const source = Readable.from([Buffer.from('x')]);
    const failure = await rejection(store.put({ tenantId: 'acme', id: randomUUID() }, source));
    expect(failure).to.be.instanceOf(StoreUnavailable);
    expect(source.destroyed).to.equal(true);
    const ref = { tenantId: 'acme', id: randomUUID() };
    const uses: Readonly<Record<string, () => Promise<unknown>>> = {
      open: () => store.open(ref),
      move: () => store.move(ref, randomUUID()),
      delete: () => store.delete(ref, Date.now()),
      list: () => Array.fromAsync(store.list()),
      tidy: () => store.tidy(Date.now()),
      ping: () => store.ping(),
    };
    for (const [name, use] of Object.entries(uses))
      expect(await rejection(use()), name).to.be.instanceOf(StoreUnavailable);
    await rm(path);
  });

  it('keeps no blob whose name could not be made durable', async () => {
    const path = await mkdtemp(join(tmpdir(), 'blob-store-'));
    const ref = { tenantId: 'acme', id: randomUUID() };
    const ownFolder = join(path, 'acme', ref.id.slice(-2), ref.id.slice(-4, -2));
    const sync = async (folder: string): Promise<void> => {
      if (folder === ownFolder) throw Object.assign(new Error('EIO'), { syscall: 'fsync' });
    };
    const store = await openFolderBlobStore({ path, sync });
    const failure = await rejection(store.put(ref, Readable.from([Buffer.from('x')])));
    expect(failure).to.be.instanceOf(StoreUnavailable);
    expect(await store.open(ref)).to.equal(undefined);
    expect(await readdir(join(path, '.incoming'))).to.deep.equal([]);
    await rm(path, { recursive: true });
  });
});
