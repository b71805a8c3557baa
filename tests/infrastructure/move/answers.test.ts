import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { IdempotencyStore } from '../../../application/ports/idempotency-store.ts';
import type { LogImport } from '../../../infrastructure/event-store/log-import.ts';
import { exportStores } from '../../../infrastructure/move/export.ts';
import { importStores } from '../../../infrastructure/move/import.ts';
import { rejection } from '../../support/eventually.ts';
import { memoryBlobStore } from '../../support/memory-blob-store.ts';
import { openMemoryEventStore } from '../../support/memory-event-store.ts';
import { memoryIdempotencyStore } from '../../support/memory-idempotency-store.ts';

const nothing = async (): Promise<void> => undefined;
const LATER = Date.now() + 3_600_000;
const FINGERPRINT = 'ab'.repeat(32);

const emptyLog: LogImport = {
  begin: async () => ({ isComplete: false, last: undefined }),
  append: nothing,
  finish: nothing,
  close: nothing,
};

describe('A move of stored answers', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'export-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const exported = (answers: IdempotencyStore, to = join(folder, 'export')) => {
    const stores = {
      events: openMemoryEventStore(),
      answers,
      blobs: memoryBlobStore(Date.now),
      keys: undefined,
    };
    const folders = { dataDir: join(folder, 'data'), to, keysTo: undefined };
    return exportStores(stores, folders, '2026-01-01T00:00:00Z');
  };
  const imported = (answers: IdempotencyStore) =>
    importStores({
      from: join(folder, 'export'),
      keysFrom: undefined,
      log: emptyLog,
      expectEmpty: nothing,
      open: async () => ({ answers, blobs: memoryBlobStore(Date.now), keys: undefined, close: nothing }),
      report: () => undefined,
    });

  it('includes the answer to a preview of 100,000 ids', async () => {
    const ids = Array.from({ length: 100_000 }, () => randomUUID());
    // The form in which `sealedAnswers` stores a body.
    const body = JSON.stringify({ shares: [], text: JSON.stringify({ selection: { kind: 'ids', ids } }) });
    const [source, target] = [memoryIdempotencyStore(), memoryIdempotencyStore()];
    await source.put(
      'acme/ann',
      'preview',
      { fingerprint: FINGERPRINT, status: 201, headers: {}, body },
      LATER,
    );
    await exported(source);
    await imported(target);
    expect((await target.get('acme/ann', 'preview'))?.body === body).to.equal(true);
  });

  it('writes uses of keys together, so that they share a transaction', async () => {
    const source = memoryIdempotencyStore();
    for (let nth = 0; nth < 50; nth += 1) {
      await source.begin('acme/ann', `key-${nth}`, { fingerprint: FINGERPRINT, nonce: randomUUID() }, LATER);
    }
    await exported(source);
    const target = memoryIdempotencyStore();
    let [running, most] = [0, 0];
    const counting: IdempotencyStore = {
      ...target,
      begin: async (...use) => {
        running += 1;
        most = Math.max(most, running);
        const begun = await target.begin(...use);
        running -= 1;
        return begun;
      },
    };
    await imported(counting);
    expect(most).to.equal(50);
    expect(await Array.fromAsync(target.list())).to.deep.equal(await Array.fromAsync(source.list()));
  });

  it('writes large answers one after another, since a batch is held in memory', async () => {
    const [source, target] = [memoryIdempotencyStore(), memoryIdempotencyStore()];
    for (let nth = 0; nth < 3; nth += 1) {
      const body = 'x'.repeat(3 * 1024 * 1024);
      await source.put(
        'acme/ann',
        `key-${nth}`,
        { fingerprint: FINGERPRINT, status: 200, headers: {}, body },
        LATER,
      );
    }
    await exported(source);
    let [running, most] = [0, 0];
    const counting: IdempotencyStore = {
      ...target,
      put: async (...answer) => {
        running += 1;
        most = Math.max(most, running);
        await target.put(...answer);
        running -= 1;
      },
    };
    await imported(counting);
    expect(most).to.equal(1);
    expect(await Array.fromAsync(target.list())).to.have.length(3);
  });

  it('is refused into the data folder, which must not keep erased data', async () => {
    for (const to of [join(folder, 'data'), join(folder, 'data', 'export')]) {
      expect(String(await rejection(exported(memoryIdempotencyStore(), to)))).to.match(
        /must be outside the data folder/,
      );
      expect(existsSync(to)).to.equal(false);
    }
  });
});
