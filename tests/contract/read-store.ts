import type { ReadStore } from '../../application/ports/read-store.ts';
import { documentTests } from './read-store/documents.ts';
import { indexTests } from './read-store/indexes.ts';
import { leaseTests } from './read-store/leases.ts';
import { listTests } from './read-store/lists.ts';
import { longSortTests } from './read-store/long-sorts.ts';
import { pageTests } from './read-store/pages.ts';
import { redeliveryTests } from './read-store/redelivery.ts';
import { rewriteTests } from './read-store/rewrites.ts';
import { searchTests } from './read-store/searches.ts';
import type { Context, ReadStoreHarness } from './read-store/support.ts';
import { togetherTests } from './read-store/together.ts';

export type { ReadStoreHarness } from './read-store/support.ts';

/**
 * The contract of every adapter of the read store port (application/ports/read-store.ts).
 * @param parts `writes`: without indexes, searches, pages and lists, for an adapter that shares their code with another
 */
export function readStoreContract(
  name: string,
  start: () => Promise<ReadStoreHarness>,
  parts: 'all' | 'writes' = 'all',
): void {
  describe(`read store contract: ${name}`, () => {
    let harness: ReadStoreHarness | undefined;
    let store: ReadStore | undefined;

    before(async () => {
      harness = await start();
      store = await harness.open();
    });
    after(async () => {
      await store?.close();
      await harness?.dispose();
    });

    const context: Context = {
      store: () => started(store),
      harness: () => started(harness),
    };
    documentTests(context);
    redeliveryTests(context);
    leaseTests(context);
    rewriteTests(context);
    togetherTests(context);
    if (parts === 'writes') return;
    indexTests(context);
    searchTests(context);
    longSortTests(context);
    pageTests(context);
    listTests(context);
  });
}

function started<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the contract has not started');
  return value;
}
