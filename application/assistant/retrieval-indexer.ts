import { RecordCreated, RecordDeleted, RecordUpdated } from '../../domain/entities/record.ts';
import { FileDeleted, type FileFacts, FileUploaded } from '../../domain/files/file.ts';
import { hasAssistant } from '../../domain/tenancy/tenant.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { ownerOf } from '../core/events/stream-name.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { Directory } from '../identity/directory.ts';
import { nameOfSource, type SourceKey } from '../ports/corpus-store.ts';
import type { StoredEvent } from '../ports/event-store.ts';
import type { Completion } from './completion.ts';
import { type Corpus, recordRevision, type SourceDocument } from './corpus.ts';
import type { RecordFacts, Sources } from './sources.ts';
import { isTextFile } from './texts/attachment-text.ts';

/** The last change of a source in a batch of events. */
type Change =
  | { readonly kind: 'record'; readonly key: SourceKey; readonly record: RecordFacts }
  | { readonly kind: 'file'; readonly key: SourceKey; readonly file: FileFacts }
  | { readonly kind: 'gone'; readonly key: SourceKey };

/** Sources embedded together; their texts are in memory at the same time. */
const GROUP = 24;

/**
 * Most new chunks that the first group of a tenant's events embeds while other tenants wait. With more, and in further
 * groups, texts are stored at once and found by keywords, and vectors are computed later ({@link Completion}).
 */
const INLINE = 48;

/**
 * Updates the corpus of entitled tenants (specification, Assistant) with records and text attachments as they are
 * created, updated and deleted. For other tenants it only removes text of changed and deleted sources; a later backfill
 * restores the changed ones.
 */
export const retrievalIndexer = (deps: {
  readonly corpus: Corpus;
  readonly sources: Sources;
  readonly directory: Directory;
  /** Computes vectors later when computing them at once would delay other tenants. */
  readonly completion: Completion;
}): Subscriber => {
  const handleAll = async (events: readonly LoggedEvent[]): Promise<void> => {
    const byTenant = Map.groupBy(events, ({ tenantId }) => tenantId);
    for (const [tenantId, some] of byTenant) await followTenant(tenantId, lastChanges(some));
  };

  /** Tenants without the assistant and without a corpus need no work. */
  const skipsAll = async (events: readonly StoredEvent[]): Promise<boolean> => {
    for (const tenantId of new Set(events.map(({ stream }) => ownerOf(stream)))) {
      const tenant = await deps.directory.tenant(tenantId);
      if ((tenant !== undefined && hasAssistant(tenant)) || !(await deps.corpus.isEmpty(tenantId)))
        return false;
    }
    return true;
  };

  const followTenant = async (tenantId: string, changes: readonly Change[]): Promise<void> => {
    const tenant = await deps.directory.tenant(tenantId);
    const isEntitled = tenant !== undefined && hasAssistant(tenant);
    if (isEntitled) {
      for (let from = 0; from < changes.length; from += GROUP)
        await write(tenantId, changes.slice(from, from + GROUP), from === 0 ? INLINE : 0);
    } else {
      // All at once, since one group after another would be slower than the bulk commit that causes the events.
      await forget(tenantId, changes);
    }
    // After the writes, since deleting a record also deletes its attachments.
    const gone = changes.filter(({ kind }) => kind === 'gone');
    for (let from = 0; from < gone.length; from += GROUP) {
      const some = gone.slice(from, from + GROUP);
      await Promise.all(some.map(({ key }) => deps.corpus.delete(tenantId, key, !isEntitled)));
    }
  };

  const write = async (tenantId: string, changes: readonly Change[], room: number): Promise<void> => {
    const documents: SourceDocument[] = [];
    for (const change of changes) {
      const document =
        change.kind === 'record'
          ? await deps.sources.record(tenantId, change.record)
          : change.kind === 'file'
            ? await deps.sources.attachment(tenantId, change.file)
            : undefined;
      if (document !== undefined) documents.push(document);
    }
    const atMost = deps.completion.isBehind(tenantId) ? 0 : room;
    if (!(await deps.corpus.writeTexts(tenantId, documents, atMost)))
      deps.completion.add(tenantId, documents);
  };

  /** Concurrently, so that the store writes them in one transaction. */
  const forget = async (tenantId: string, changes: readonly Change[]): Promise<void> => {
    await Promise.all(
      changes.map(async (change) => {
        if (change.kind === 'record')
          await deps.corpus.forget(tenantId, change.key, recordRevision(change.record.version, 0));
      }),
    );
  };

  const lastChanges = (events: readonly LoggedEvent[]): readonly Change[] => {
    const changes = events.map(changeOf).filter((change) => change !== undefined);
    return [...new Map(changes.map((change) => [nameOfSource(change.key), change])).values()];
  };

  return {
    name: 'retrieval-indexer',
    types: [RecordCreated, RecordUpdated, RecordDeleted, FileUploaded, FileDeleted].map(({ type }) => type),
    begin: () => deps.completion.begin(),
    handle: (event) => handleAll([event]),
    handleAll,
    skipsAll,
  };
};

const changeOf = (event: LoggedEvent): Change | undefined => {
  const created = dataOf(RecordCreated, event);
  const written = created ?? dataOf(RecordUpdated, event);
  if (written !== undefined) {
    const { record_id: id, entity_name: entityName, values } = written;
    const version = 'version' in written ? written.version : 1;
    const record = { id, entityName, values, version };
    return { kind: 'record', key: { kind: 'entity_record', id }, record };
  }
  const record = dataOf(RecordDeleted, event);
  if (record !== undefined) return { kind: 'gone', key: { kind: 'entity_record', id: record.record_id } };
  const file = dataOf(FileUploaded, event) ?? dataOf(FileDeleted, event);
  if (file === undefined || !isTextFile(file)) return undefined;
  const key: SourceKey = { kind: 'attachment', id: file.file_id };
  return event.type === FileUploaded.type ? { kind: 'file', key, file } : { kind: 'gone', key };
};
