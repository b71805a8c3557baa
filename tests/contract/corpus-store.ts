import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type { CorpusSource, CorpusStore, SourceKey } from '../../application/ports/corpus-store.ts';

export interface CorpusStoreHarness {
  /** Opens the same store again, like another process. */
  open(): Promise<CorpusStore>;
  dispose(): Promise<void>;
  /** False for a server that reads, compares and writes in three steps: racing writers are then not tested. */
  readonly isAtomic?: boolean;
}

const DIMENSIONS = 8;
const vector = (seed: number): Float32Array =>
  Float32Array.from({ length: DIMENSIONS }, (_, index) => Math.fround(Math.sin(seed + index)));

const record = (id = randomUUID()): SourceKey => ({ kind: 'entity_record', id });

const source = (key: SourceKey, revision: string, ...texts: readonly string[]): CorpusSource => ({
  ...key,
  revision,
  title: `Title of ${key.id} – 標題`,
  parent: key.kind === 'attachment' ? 'a-record' : null,
  model: 'a-model',
  chunks: texts.map((text, index) => ({
    text,
    hash: `hash of ${text}`,
    vector: vector(index + text.length),
  })),
});

/** The contract of every adapter of the corpus store port (application/ports/corpus-store.ts). */
export function corpusStoreContract(name: string, start: () => Promise<CorpusStoreHarness>): void {
  describe(`corpus store contract: ${name}`, () => {
    let harness: CorpusStoreHarness;
    let store: CorpusStore;
    let other: CorpusStore;
    let tenant: string;

    before(async () => {
      harness = await start();
      store = await harness.open();
      other = await harness.open();
    });
    beforeEach(() => {
      tenant = `t_${randomUUID().slice(0, 8)}`;
    });
    after(async () => {
      await store?.close();
      await other?.close();
      await harness?.dispose();
    });

    const textsOf = async (key: SourceKey, from: CorpusStore = store): Promise<string[] | undefined> => {
      const [found] = await from.load(tenant, [key]);
      return found?.chunks.map(({ text }) => text);
    };

    it('lists sources with texts but without vectors, of all tenants', async () => {
      const [bare, done, empty, removed] = [record(), record(), record(), record()];
      const without = (key: SourceKey): CorpusSource => {
        const { chunks, ...rest } = source(key, '1', 'a text');
        return { ...rest, model: null, chunks: chunks.map((chunk) => ({ ...chunk, vector: undefined })) };
      };
      const ours = async () =>
        (await store.withoutVectors(10_000)).filter(({ tenantId }) => tenantId === tenant);
      await store.put(tenant, [without(bare), without(done), without(removed)]);
      await store.put(tenant, [{ ...source(empty, '1'), model: null }]);
      await store.put(tenant, [source(done, '1', 'a text')]);
      await store.putTombstone(tenant, removed, '2', false);
      expect(await ours()).to.deep.equal([{ tenantId: tenant, ...bare }]);
      const elsewhere = `${tenant}-2`;
      await other.put(elsewhere, [without(bare)]);
      expect(await store.withoutVectors(10_000)).to.deep.include({ tenantId: elsewhere, ...bare });
      expect(await store.withoutVectors(1)).to.have.length(1);
      await store.put(tenant, [source(bare, '1', 'a text')]);
      expect(await ours()).to.deep.equal([]);
    });

    it('returns what was stored, bit for bit, also to another process', async () => {
      const put = source(record(), '3', 'Grüße 😀', '', 'line\nline');
      expect(await store.put(tenant, [put])).to.deep.equal([true]);
      const [found] = await other.load(tenant, [put]);
      const { seq, ...rest } = found ?? { seq: 0 };
      expect(rest).to.deep.equal(put);
      expect(seq).to.be.greaterThan(0);
      const [summary, none] = await other.summaries(tenant, [put, record()]);
      expect(summary).to.deep.equal({
        kind: put.kind,
        id: put.id,
        revision: '3',
        isTombstone: false,
        model: 'a-model',
        hashes: put.chunks.map(({ hash }) => hash),
      });
      expect(none).to.equal(undefined);
    });

    it('keeps a source without vectors, and one without chunks', async () => {
      const plain = source(record(), '1', 'text');
      const without = {
        ...plain,
        model: null,
        chunks: plain.chunks.map((c) => ({ ...c, vector: undefined })),
      };
      const empty = { ...source(record(), '1'), model: null };
      await store.put(tenant, [without, empty]);
      const [first, second] = await store.load(tenant, [without, empty]);
      expect(first?.chunks).to.deep.equal(without.chunks);
      expect(second?.chunks).to.deep.equal([]);
    });

    it('replaces a source by the same or a later revision only', async () => {
      const key = record();
      await store.put(tenant, [source(key, '2', 'a', 'b', 'c')]);
      expect(await other.put(tenant, [source(key, '1', 'old')])).to.deep.equal([false]);
      expect(await textsOf(key)).to.deep.equal(['a', 'b', 'c']);
      expect(await store.put(tenant, [source(key, '2', 'same revision')])).to.deep.equal([true]);
      expect(await other.put(tenant, [source(key, '3', 'shorter')])).to.deep.equal([true]);
      expect(await textsOf(key)).to.deep.equal(['shorter']);
      const results = await store.put(tenant, [source(key, '1', 'old'), source(record(), '1', 'new')]);
      expect(results, 'one refused does not hold up the next').to.deep.equal([false, true]);
    });

    it('restores no older revision after a removal', async () => {
      const key = record();
      await store.put(tenant, [source(key, '2', 'text')]);
      await other.putTombstone(tenant, key, '~', false);
      expect(await store.put(tenant, [source(key, '9', 'late')])).to.deep.equal([false]);
      expect(await textsOf(key)).to.equal(undefined);
      expect((await store.summaries(tenant, [key]))[0]).to.include({
        isTombstone: true,
        revision: '~',
        model: null,
      });
      const unseen = record();
      await store.putTombstone(tenant, unseen, '~', false);
      expect(await store.put(tenant, [source(unseen, '1', 'late')]), 'not seen before').to.deep.equal([
        false,
      ]);
      await store.putTombstone(tenant, unseen, '1', false);
      expect((await store.summaries(tenant, [unseen]))[0]?.revision, 'by an older revision').to.equal('~');
    });

    it('reports whether a tenant has any source, even a removed one', async () => {
      const [key, elsewhere] = [record(), `${tenant}-3`];
      expect(await store.isEmpty(elsewhere)).to.equal(true);
      await store.putTombstone(elsewhere, key, '~', true);
      expect(await store.isEmpty(elsewhere)).to.equal(true);
      await store.put(elsewhere, [source(key, '1', 'text')]);
      expect(await other.isEmpty(elsewhere)).to.equal(false);
      await store.putTombstone(elsewhere, key, '~', false);
      expect(await store.isEmpty(elsewhere)).to.equal(false);
      expect(await store.isEmpty(`${elsewhere}-4`)).to.equal(true);
    });

    it('removes, on request, only a source that exists', async () => {
      const [key, unseen] = [record(), record()];
      await store.put(tenant, [source(key, '2', 'text')]);
      await store.putTombstone(tenant, unseen, '~', true);
      expect(await store.summaries(tenant, [unseen])).to.deep.equal([undefined]);
      await store.putTombstone(tenant, key, '3', true);
      expect(await textsOf(key)).to.equal(undefined);
      expect(await store.put(tenant, [source(key, '3', 'again')]), 'that very revision').to.deep.equal([
        true,
      ]);
    });

    it('advances a revision only from the present revision', async () => {
      const key = record();
      await store.put(tenant, [source(key, '2', 'text')]);
      expect(await store.advance(tenant, key, '1', '5')).to.equal(false);
      expect(await store.advance(tenant, key, '2', '5')).to.equal(true);
      expect(await store.put(tenant, [source(key, '4', 'older')])).to.deep.equal([false]);
      expect(await textsOf(key)).to.deep.equal(['text']);
      expect(await store.advance(tenant, record(), '2', '5')).to.equal(false);
    });

    it('lists changes in order, with removed sources, and each source once', async () => {
      const [one, two, three] = [record(), record(), record()];
      await store.put(tenant, [source(one, '1', 'a'), source(two, '1', 'b')]);
      const first = await other.changes(tenant, 0);
      expect(first.map(({ id }) => id)).to.deep.equal([one.id, two.id]);
      const seen = first.at(-1)?.seq ?? 0;
      await store.put(tenant, [source(one, '1', 'again'), source(three, '1', 'c'), source(one, '2', 'more')]);
      await store.putTombstone(tenant, two, '~', false);
      const later = await other.changes(tenant, seen);
      expect(later.map(({ id, isTombstone }) => [id, isTombstone])).to.deep.equal([
        [three.id, false],
        [one.id, false],
        [two.id, true],
      ]);
      expect(await other.changes(tenant, later.at(-1)?.seq ?? 0)).to.deep.equal([]);
    });

    it('knows the attachments of a record until they are removed', async () => {
      const [one, two] = [randomUUID(), randomUUID()];
      const attachment = (id: string): SourceKey => ({ kind: 'attachment', id });
      await store.put(tenant, [source(attachment(one), '1', 'a'), source(attachment(two), '1', 'b')]);
      await store.putTombstone(tenant, attachment(two), '~', false);
      expect(await other.attachmentsOf(tenant, 'a-record')).to.deep.equal([one]);
      expect(await other.attachmentsOf(tenant, 'another')).to.deep.equal([]);
    });

    it('separates tenants with the same ids', async () => {
      const key = record();
      const stranger = `${tenant}_b`;
      await store.put(tenant, [source(key, '1', 'mine')]);
      await store.put(stranger, [source(key, '1', 'theirs')]);
      await store.putTombstone(stranger, key, '~', false);
      expect(await textsOf(key)).to.deep.equal(['mine']);
      expect(await store.changes(tenant, 0)).to.have.length(1);
      expect(await store.attachmentsOf(stranger, 'a-record')).to.deep.equal([]);
    });

    it('keeps the last backfill of each tenant', async () => {
      expect(await store.backfillRun(tenant)).to.equal(undefined);
      await store.saveBackfillRun(tenant, { run: 'one', counts: null });
      expect(await other.backfillRun(tenant)).to.deep.equal({ run: 'one', counts: null });
      const done = { run: 'one', counts: { added: 1, updated: 2, skipped: 3 } };
      await store.saveBackfillRun(tenant, done);
      expect(await other.backfillRun(tenant)).to.deep.equal(done);
    });

    it('ends at the latest revision when writers race', async function () {
      if (harness.isAtomic === false) this.skip();
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 2, maxLength: 8 }),
          async (all) => {
            const key = record();
            const stores = [store, other];
            await Promise.all(
              all.map((revision, index) =>
                stores[index % 2]?.put(tenant, [source(key, String(revision), `text ${revision}`)]),
              ),
            );
            expect(await textsOf(key)).to.deep.equal([`text ${Math.max(...all)}`]);
          },
        ),
        { numRuns: 15 },
      );
    });
  });
}
