import { expect } from 'chai';
import { Completion } from '../../../application/assistant/completion.ts';
import { Corpus } from '../../../application/assistant/corpus.ts';
import { retrievalIndexer } from '../../../application/assistant/retrieval-indexer.ts';
import type { Sources } from '../../../application/assistant/sources.ts';
import type { LoggedEvent } from '../../../application/core/events/event-codec.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import type { CorpusStore } from '../../../application/ports/corpus-store.ts';
import { type StoredEvent, StoreUnavailable } from '../../../application/ports/event-store.ts';
import { testLogger } from '../../support/fakes.ts';
import { memoryCorpusStore } from '../../support/memory-corpus-store.ts';
import { document, type TestEmbedder, testEmbedder } from './support.ts';

const event = (type: string, data: object, tenantId = 'acme'): LoggedEvent =>
  // The indexer reads only these fields of an event.
  ({ type, data, tenantId }) as unknown as LoggedEvent;

const created = (id: string, text: string, tenantId?: string): LoggedEvent =>
  event('RecordCreated', { record_id: id, entity_name: 'orders', values: { text } }, tenantId);
const updated = (id: string, text: string, version: number, tenantId?: string): LoggedEvent =>
  event('RecordUpdated', { record_id: id, entity_name: 'orders', values: { text }, version }, tenantId);
const deleted = (id: string, tenantId?: string): LoggedEvent =>
  event('RecordDeleted', { record_id: id }, tenantId);
const facts = (id: string, recordId: string) => ({
  file_id: id,
  record_id: recordId,
  filename: `${id}.txt`,
  content_type: 'text/plain',
});

describe('the indexer', () => {
  let store: CorpusStore;
  let embedder: TestEmbedder;
  let entitled: Set<string>;
  let corpus: Corpus;
  let completion: Completion;
  const sources = {
    record: async (
      _tenantId: string,
      record: { id: string; values: Record<string, unknown>; version: number },
    ) =>
      document(record.id, String(record.values.text), {
        revision: `${String(record.version).padStart(12, '0')}.1`,
      }),
    attachment: async (_tenantId: string, file: { file_id: string; record_id: string }) =>
      document(file.file_id, `text of ${file.file_id}`, { kind: 'attachment', parent: file.record_id }),
  } as unknown as Sources;

  beforeEach(() => {
    store = memoryCorpusStore();
    embedder = testEmbedder();
    entitled = new Set(['acme', 'other']);
    corpus = new Corpus({ store, embedder });
    completion = newCompletion();
  });

  const newCompletion = () =>
    new Completion({ store, corpus, logger: testLogger(), isEntitled: async (id) => entitled.has(id) });

  const indexerOf = () => {
    const directory = {
      tenant: async (id: string) => ({
        plan: entitled.has(id) ? 'enterprise' : 'free',
        entitlements: { assistant: true },
      }),
    } as unknown as Directory;
    return retrievalIndexer({ corpus, sources, directory, completion });
  };
  const handle = (...events: LoggedEvent[]) => indexerOf().handleAll?.(events);
  const texts = async (tenantId = 'acme') => {
    const keys = (await store.changes(tenantId, 0)).filter(({ isTombstone }) => !isTombstone);
    const found = await store.load(tenantId, keys);
    return found.flatMap((source) => source?.chunks.map(({ text }) => text) ?? []).toSorted();
  };

  it('embeds only the last of several events of a record, per tenant', async () => {
    await handle(
      created('a', 'one'),
      updated('a', 'two', 2),
      created('a', 'theirs', 'other'),
      updated('a', 'three', 3),
    );
    expect(await texts()).to.deep.equal(['three']);
    expect(await texts('other')).to.deep.equal(['theirs']);
    expect(embedder.embedded).to.have.length(2);
  });

  it('has no effect when events repeat, in a batch or late', async () => {
    await handle(created('a', 'one'), updated('a', 'two', 2));
    const before = embedder.embedded.length;
    await handle(created('a', 'one'));
    await handle(created('a', 'one'), updated('a', 'two', 2));
    expect(await texts()).to.deep.equal(['two']);
    expect(embedder.embedded).to.have.length(before);
  });

  it('deletes attachments with their record, also in one batch', async () => {
    await handle(created('a', 'one'), event('FileUploaded', facts('f', 'a')), deleted('a'));
    expect(await texts()).to.deep.equal([]);
    await handle(created('a', 'one'), event('FileUploaded', facts('f', 'a')));
    expect(await texts(), 'nor do they come back').to.deep.equal([]);
    await handle(
      event('FileUploaded', facts('g', 'b')),
      event('FileUploaded', { ...facts('h', 'b'), filename: 'h.png', content_type: 'image/png' }),
    );
    expect(await texts()).to.deep.equal(['text of g']);
    await handle(event('FileDeleted', facts('g', 'b')));
    expect(await texts()).to.deep.equal([]);
  });

  it('adds nothing for a tenant without the assistant and drops outdated texts', async () => {
    await handle(created('a', 'one'), created('b', 'stays'));
    entitled.clear();
    await handle(updated('a', 'two', 2), created('c', 'new'), deleted('d'));
    expect(await texts()).to.deep.equal(['stays']);
    expect(await store.changes('acme', 0), 'no trace of what was never there').to.have.length(2);
    entitled.add('acme');
    await handle(updated('a', 'two', 2));
    expect(await texts(), 'a backfill brings it back by this very revision').to.deep.equal(['stays', 'two']);
  });

  it('skips only events of tenants that have neither the assistant nor a corpus', async () => {
    const stored = (...tenants: string[]) =>
      // The indexer reads only the stream’s name.
      tenants.map((tenantId) => ({ stream: `${tenantId}.record-a` }) as StoredEvent);
    const { skipsAll } = indexerOf();
    entitled = new Set(['acme']);
    expect(await skipsAll?.(stored('other', 'third'))).to.equal(true);
    expect(await skipsAll?.(stored('other', 'acme')), 'one that has the assistant').to.equal(false);
    await handle(created('a', 'one'));
    entitled.clear();
    expect(await skipsAll?.(stored('acme')), 'its texts are outdated now').to.equal(false);
    await handle(deleted('a'));
    expect(await skipsAll?.(stored('acme')), 'it is remembered as deleted').to.equal(false);
  });

  it('stores texts without a model, so that no outdated text is found', async () => {
    await handle(created('a', 'one'));
    embedder.available = false;
    await handle(updated('a', 'two', 2));
    expect(await texts()).to.deep.equal(['two']);
  });

  const long = (id: string): string =>
    Array.from({ length: 2000 }, (_, n) => `Clause ${n} of contract ${id} speaks of case ${n}.`).join('\n');
  const withVectors = async (tenantId = 'acme') => {
    const keys = (await store.changes(tenantId, 0)).filter(({ isTombstone }) => !isTombstone);
    return (await store.load(tenantId, keys)).flatMap((source) =>
      source?.model === null ? [] : [source?.id],
    );
  };

  it('stores large batches immediately as texts, and computes their vectors later', async () => {
    const gate = Promise.withResolvers<void>();
    const { embed } = embedder;
    embedder.embed = async (all, urgency) => {
      if (all.length > 48) await gate.promise;
      return embed(all, urgency);
    };
    await handle(created('a', long('a')), created('b', 'short'), created('c', 'theirs', 'other'));
    expect(await texts()).to.have.length.greaterThan(48);
    expect(await texts('other')).to.deep.equal(['theirs']);
    expect(await withVectors('other')).to.deep.equal(['c']);
    await handle(created('d', 'after that'));
    expect(await withVectors(), 'with the completion').to.not.include('d');
    gate.resolve();
    await completion.idle();
    expect((await withVectors()).toSorted()).to.deep.equal(['a', 'b', 'd']);
    await handle(updated('d', 'now at once', 2));
    expect(await withVectors()).to.include('d');
  });

  it('computes after a restart the vectors that a crash left out', async () => {
    const dead = { add: () => undefined, isBehind: () => false } as unknown as Completion;
    completion = dead;
    await handle(created('a', long('a')), created('b', long('b'), 'other'));
    expect(await withVectors()).to.deep.equal([]);
    entitled.delete('other');
    completion = newCompletion();
    completion.begin();
    await completion.idle();
    expect(await withVectors()).to.deep.equal(['a']);
    expect(await withVectors('other'), 'not entitled').to.deep.equal([]);
  });

  it('stores no vectors of a text over a later text or a deletion', async () => {
    const { embed } = embedder;
    embedder.embed = async (all, urgency) => {
      if (all.length > 48) {
        embedder.embed = embed;
        await corpus.delete('acme', { kind: 'entity_record', id: 'b' }, false);
        await handle(updated('a', 'later', 2));
      }
      return embed(all, urgency);
    };
    await handle(created('a', long('a')), created('b', long('b')));
    await completion.idle();
    expect(await texts()).to.deep.equal(['later']);
    expect(await withVectors()).to.deep.equal(['a']);
  });

  it('retries a source when a store is unavailable, skips one that fails otherwise, and stops on request', async () => {
    let tries = 0;
    const { embed } = embedder;
    embedder.embed = async (all, urgency) => {
      if (all.length <= 48) return embed(all, urgency);
      tries += 1;
      if (tries === 1) throw new StoreUnavailable('a moment');
      if (tries === 2) throw new Error('broken');
      return embed(all, urgency);
    };
    await handle(created('a', long('a')), created('b', long('b')));
    await completion.idle();
    expect(await withVectors()).to.have.length(1);
    await completion.stop();
    completion.add('acme', [{ kind: 'entity_record', id: 'a' }]);
    await completion.idle();
    expect(await withVectors()).to.have.length(1);
  });
});
