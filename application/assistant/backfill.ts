import { DomainError } from '../../domain/core/errors.ts';
import type { FileFacts } from '../../domain/files/file.ts';
import { hasAssistant } from '../../domain/tenancy/tenant.ts';
import { randomUUID } from '../core/runtime/random.ts';
import { pause } from '../core/runtime/timers.ts';
import { type LeaseOptions, whileRenewed } from '../core/subscriptions/lease.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import type { CorpusStore } from '../ports/corpus-store.ts';
import type { Corpus, Outcome, SourceDocument } from './corpus.ts';
import { orModelUnavailable } from './retrieval.ts';
import type { RecordFacts, Sources } from './sources.ts';
import { isTextFile } from './texts/attachment-text.ts';

/** Number of sources by outcome. */
export interface BackfillCounts {
  readonly added: number;
  readonly updated: number;
  readonly skipped: number;
}

/** Lists a tenant's records, and its attachments of any type, up to the present end of the log. */
export interface CorpusInventory {
  records(tenantId: string): AsyncIterable<RecordFacts>;
  attachments(tenantId: string): AsyncIterable<Omit<FileFacts, 'entity_name'>>;
}

/** Most sources in a group. */
const GROUP = 32;
/** Groups in progress: while one group waits for the store, the other one is embedded. */
const AT_ONCE = 2;
const POLL_MS = 200;

/**
 * Writes a tenant's records and attachments to its corpus (specification, Assistant). All nodes together have one run
 * at a time per tenant; further requests wait for this run and get the same counts. After a crash a waiting request
 * starts a new run, which skips sources that are already stored.
 */
export class Backfills extends WithDeps<{
  readonly corpus: Corpus;
  readonly sources: Sources;
  readonly inventory: CorpusInventory;
  readonly directory: Directory;
  readonly store: CorpusStore;
  readonly lease: LeaseOptions;
  /** @throws {EmbedderUnavailable} without a model */
  readonly checkModel: () => Promise<unknown>;
}> {
  readonly #running = new Map<string, Promise<BackfillCounts>>();
  readonly #stopping = new AbortController();

  /**
   * @throws {DomainError} `embedding_model_unavailable`, `unavailable`, or `assistant_not_entitled` when the
   * entitlement ends during the run
   */
  async run(tenantId: string): Promise<BackfillCounts> {
    const present = this.#running.get(tenantId);
    if (present !== undefined) return present;
    const run = this.#runOrJoin(tenantId).finally(() => this.#running.delete(tenantId));
    this.#running.set(tenantId, run);
    return run;
  }

  /** Aborts running backfills and waits until they have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled([...this.#running.values()]);
  }

  async #runOrJoin(tenantId: string): Promise<BackfillCounts> {
    await orModelUnavailable(this.deps.checkModel());
    const { lease: options, store } = this.deps;
    const { signal } = this.#stopping;
    const before = await store.backfillRun(tenantId);
    for (let waited = false; !signal.aborted; waited = true) {
      const lease = await options.store.acquireLease(`backfill:${tenantId}`, options.owner, options.ttlMs);
      const last = waited ? await store.backfillRun(tenantId) : undefined;
      const isAnother = last?.run !== before?.run || before?.counts === null;
      // The counts of another run that ended while this request waited.
      const joined = isAnother ? last?.counts : undefined;
      if (lease !== undefined) {
        let counts = joined;
        await whileRenewed(lease, options, signal, async (_lease, held) => {
          counts ??= await this.#sweep(tenantId, held);
        });
        if (counts !== undefined && counts !== null) return counts;
      } else if (joined !== undefined && joined !== null) return joined;
      await pause(POLL_MS, signal);
    }
    throw new DomainError('unavailable', 'The server is stopping; the next backfill goes on from here.');
  }

  async #sweep(tenantId: string, held: AbortSignal): Promise<BackfillCounts> {
    const { store, inventory } = this.deps;
    const run = randomUUID();
    await store.saveBackfillRun(tenantId, { run, counts: null });
    const counts = { added: 0, updated: 0, skipped: 0 };
    const count = (outcomes: readonly Outcome[]): void => {
      for (const outcome of outcomes) counts[outcome] += 1;
    };
    const groups = this.#groups(tenantId, inventory, count);
    const work = async (): Promise<void> => {
      for await (const documents of groups) {
        if (held.aborted) throw new DomainError('unavailable', 'The backfill was interrupted.');
        await this.#checkEntitled(tenantId);
        count(await orModelUnavailable(this.deps.corpus.write(tenantId, documents, 'fail')));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    await store.saveBackfillRun(tenantId, { run, counts });
    return counts;
  }

  async *#groups(
    tenantId: string,
    inventory: CorpusInventory,
    count: (outcomes: readonly Outcome[]) => void,
  ): AsyncGenerator<readonly SourceDocument[]> {
    const { sources, corpus } = this.deps;
    for await (const records of inGroups(inventory.records(tenantId))) {
      const documents: SourceDocument[] = [];
      for (const record of records) {
        const document = await sources.record(tenantId, record);
        if (document !== undefined) documents.push(document);
      }
      yield documents;
    }
    for await (const all of inGroups(inventory.attachments(tenantId))) {
      const files = all.filter(isTextFile);
      const held = await corpus.holds(
        tenantId,
        files.map(({ file_id }) => file_id),
      );
      count(files.flatMap((_, index) => (held[index] === true ? ['skipped' as const] : [])));
      for (const [index, file] of files.entries()) {
        if (held[index] === true) continue;
        const document = await sources.attachment(tenantId, file);
        // One attachment per group, since each may be as large as an upload.
        if (document !== undefined) yield [document];
      }
    }
  }

  /** Checked again for each group, since the entitlement may end during the run. */
  async #checkEntitled(tenantId: string): Promise<void> {
    const tenant = await this.deps.directory.tenant(tenantId);
    if (tenant === undefined || !hasAssistant(tenant)) {
      throw new DomainError(
        'assistant_not_entitled',
        'The tenant does not have the entitlement for the assistant.',
      );
    }
  }
}

const inGroups = async function* <T>(all: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  let group: T[] = [];
  for await (const one of all) {
    group.push(one);
    if (group.length < GROUP) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
};
