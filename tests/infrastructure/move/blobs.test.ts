import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { BlobRef } from '../../../application/ports/blob-store.ts';
import type { LogImport } from '../../../infrastructure/event-store/log-import.ts';
import { exportStores } from '../../../infrastructure/move/export.ts';
import { importStores } from '../../../infrastructure/move/import.ts';
import { memoryBlobStore } from '../../support/memory-blob-store.ts';
import { openMemoryEventStore } from '../../support/memory-event-store.ts';
import { memoryIdempotencyStore } from '../../support/memory-idempotency-store.ts';

const nothing = async (): Promise<void> => undefined;

/** An import of an empty log that never completes, so that it can be repeated. */
const emptyLog: LogImport = {
  begin: async () => ({ isComplete: false, last: undefined }),
  append: nothing,
  finish: nothing,
  close: nothing,
};

describe('An import of stores that is run again', () => {
  let from: string;
  beforeEach(async () => {
    from = await mkdtemp(join(tmpdir(), 'export-'));
  });
  afterEach(() => rm(from, { recursive: true }));

  it('keeps the files that are stored as exported, and replaces others of the same size', async () => {
    const source = memoryBlobStore(Date.now);
    const stored = [randomBytes(1000), randomBytes(1000), Buffer.alloc(0)];
    const refs = stored.map((): BlobRef => ({ tenantId: 'acme', id: randomUUID() }));
    for (const [nth, ref] of refs.entries()) await source.put(ref, Readable.from([stored[nth]]));
    const rest = { events: openMemoryEventStore(), answers: memoryIdempotencyStore(), keys: undefined };
    const folders = { dataDir: join(from, 'data'), to: from, keysTo: undefined };
    await exportStores({ ...rest, blobs: source }, folders, '2026-01-01T00:00:00Z');

    const target = memoryBlobStore(Date.now);
    const puts: BlobRef[] = [];
    const blobs: typeof target = {
      ...target,
      put: (ref, bytes) => {
        puts.push(ref);
        return target.put(ref, bytes);
      },
    };
    const open = async () => ({ blobs, keys: undefined, answers: rest.answers, close: nothing });
    const plan = {
      from,
      keysFrom: undefined,
      log: emptyLog,
      expectEmpty: nothing,
      open,
      report: () => undefined,
    };
    await importStores(plan);
    expect(puts).to.have.deep.members(refs);

    const [damaged = { tenantId: '', id: '' }] = refs;
    await target.put(damaged, Readable.from([randomBytes(1000)]));
    await importStores(plan);
    expect(puts.slice(refs.length)).to.deep.equal([damaged]);
    expect(target.everything()).to.have.deep.members(stored);
  });
});
