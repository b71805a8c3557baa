import { setTimeout } from 'node:timers/promises';
import { chunksOf, embeddedText } from '../../application/assistant/chunker.ts';
import { recordRevision } from '../../application/assistant/corpus.ts';
import { recordText } from '../../application/assistant/texts/record-text.ts';
import type { CorpusStore } from '../../application/ports/corpus-store.ts';
import type { Embedder } from '../../application/ports/embedder.ts';
import type { Field } from '../../domain/entities/fields.ts';
import { readConfig } from '../../infrastructure/config.ts';
import { threadedEmbedder } from '../../infrastructure/embedding/threaded-embedder.ts';
import { createLogger } from '../../infrastructure/logger.ts';
import { openCorpus } from '../../infrastructure/stores.ts';
import { Connection, requestBytes } from '../http/load.ts';
import { inFolder, platformEnvironment, startPlatformChild } from '../http/platform.ts';
import { tenantToken } from '../http/tokens.ts';
import { ids } from '../logs.ts';
import { type Line, milliseconds, perSecond } from '../report.ts';
import { median, scaled } from '../rounds.ts';
import { contextOf, createTenant, makeMany, type UseCases, withUseCases } from '../use-cases.ts';
import { documents } from './corpus/all.ts';
import { cases } from './labelled.ts';

/**
 * Size of a tenant's corpus, and the yardstick: embedding this number of sentences must take longer than one answer.
 */
const SMALL = { tenant: 'small', chunks: 10_000, sentences: 3 };
const LARGE = { tenant: 'large', chunks: 100_000, sentences: 20 };
const RECORDS = 1000;
const FILLED = 600;
const OF_RAW = 0.8;
/** Questions before the measurement, which load the model and the indexes. */
const WARM_UP = 3;
const ASK = '/api/v1/tenant/ai/assistant/ask';
const BACKFILL = '/api/v1/tenant/rag/backfill';
/** Maximum time of a backfill of the bench. */
const BACKFILL_MS = 300_000;
const ENTITY = 'documents';

const FIELDS: Field[] = [
  { key: 'name', label: 'Name', type: 'text', required: false },
  { key: 'text', label: 'Text', type: 'long_text', required: false },
];

/**
 * Compares `ask` over HTTP (with the extractive answerer) with embedding 3 or 20 sentences, and a backfill with the
 * embedder alone on the same texts. The corpora for `ask` have texts of the labelled set and random vectors.
 */
export const benchAssistantSpeed = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const config = readConfig(platformEnvironment(folder));
    const sizes = [SMALL, LARGE].map((size) => ({ ...size, chunks: scaled(size.chunks, scale, 100) }));
    const filled = scaled(FILLED, scale, 20);
    const corpus = await openCorpus(config);
    await prepare(folder, corpus, sizes, filled);
    await corpus.close();
    const embedder = threadedEmbedder({ logger: createLogger('error') });
    const platform = await startPlatformChild(folder);
    const connection = await Connection.open(platform.port, BACKFILL_MS);
    try {
      return [
        ...(await timeQuestions(connection, embedder, sizes, scaled(100, scale, 10))),
        await rateBackfill(connection, embedder, filled),
      ];
    } finally {
      connection.close();
      await platform.stop();
      await embedder.close();
    }
  });

type Size = typeof SMALL;

const timeQuestions = async (
  connection: Connection,
  embedder: Embedder,
  sizes: readonly Size[],
  rounds: number,
): Promise<Line[]> => {
  const asked = cases.map(({ question }) => question);
  const times = new Map(sizes.map(({ tenant }) => [tenant, [] as number[]]));
  const embedding = new Map(sizes.map(({ tenant }) => [tenant, [] as number[]]));
  for (let nth = -WARM_UP; nth < rounds; nth += 1) {
    const message = asked[(nth + asked.length) % asked.length] ?? '';
    for (const { tenant, sentences } of sizes) {
      const request = requestBytes('POST', ASK, { token: tenantToken(tenant, 'ann'), body: { message } });
      const began = performance.now();
      await connection.ask(request);
      if (nth >= 0) times.get(tenant)?.push(performance.now() - began);
      // Embedding many sentences takes long and varies little, so a few samples are enough.
      if (nth % sentences > 3) continue;
      const some = Array.from(
        { length: sentences },
        (_, more) => asked[(nth + 9 + more * 7) % asked.length] ?? '',
      );
      const from = performance.now();
      await embedder.embed(some, 'question');
      if (nth >= 0) embedding.get(tenant)?.push(performance.now() - from);
    }
  }
  return sizes.map(({ tenant, chunks, sentences }) => {
    const value = median(times.get(tenant) ?? []);
    const yardstick = median(embedding.get(tenant) ?? []);
    return {
      figure: `ask over ${chunks.toLocaleString('en')} chunks, median`,
      value: milliseconds(value),
      yardstick: { name: `embedding ${sentences} sentences`, value: milliseconds(yardstick) },
      target: { text: '< 1', met: value < yardstick },
    };
  });
};

const rateBackfill = async (connection: Connection, embedder: Embedder, filled: number): Promise<Line> => {
  const texts = documents.slice(0, filled).flatMap((document) => {
    const { title, text } = recordText({ label: 'Document', fields: FIELDS }, valuesOf(document));
    return chunksOf(title, text).map((chunk) => embeddedText(title, chunk.text));
  });
  const token = tenantToken('filled', 'ann');
  const raw = async (): Promise<number> => {
    const began = performance.now();
    await embedder.embed(texts, 'background');
    return performance.now() - began;
  };
  // Measured before and after, since the load of the machine may change.
  const before = await raw();
  const began = performance.now();
  const counts = JSON.parse(await connection.ask(requestBytes('POST', BACKFILL, { token })));
  const took = performance.now() - began;
  if (counts.added !== filled) throw new Error(`the backfill added ${counts.added} of ${filled}`);
  const bare = (before + (await raw())) / 2;
  const [value, yardstick] = [(texts.length * 1000) / took, (texts.length * 1000) / bare];
  return {
    figure: 'backfill, chunks',
    value: perSecond(value),
    yardstick: { name: 'the bare embedder', value: perSecond(yardstick) },
    target: { text: `≥ ${OF_RAW}`, met: value / yardstick >= OF_RAW },
  };
};

const valuesOf = ({ title, text }: { readonly title: string; readonly text: string }) => ({
  name: title,
  text,
});

/**
 * Creates data while the measured tenants have no assistant, so that it is not embedded, and entitles them at the end.
 */
const prepare = (
  folder: string,
  corpus: CorpusStore,
  sizes: readonly Size[],
  filled: number,
): Promise<void> =>
  withUseCases(folder, async (useCases) => {
    for (const { tenant, chunks } of sizes) {
      const made = await fill(useCases, tenant, Math.min(RECORDS, chunks / 10));
      await putSynthetic(corpus, tenant, made, chunks);
    }
    await fill(useCases, 'filled', filled);
    // The indexer follows the log in order, so it has passed all earlier records when it has indexed this record.
    const [last] = await fill(useCases, 'last', 1, 'enterprise');
    while (last !== undefined && !(await isThere(corpus, last))) await setTimeout(50);
    for (const tenant of [...sizes.map((size) => size.tenant), 'filled'])
      await useCases.tenancy.change(tenant, { plan: 'enterprise' }, contextOf('bench'));
  });

const isThere = async (corpus: CorpusStore, id: string): Promise<boolean> =>
  (await corpus.summaries('last', [{ kind: 'entity_record', id }]))[0] !== undefined;

const AT_ONCE = 50;

const fill = async (
  useCases: UseCases,
  id: string,
  count: number,
  plan: 'free' | 'enterprise' = 'free',
): Promise<readonly string[]> => {
  await createTenant(useCases, id, { plan });
  await useCases.authentication.authenticate(tenantToken(id, 'ann'), 'tenant');
  await useCases.schemas.define(id, { name: ENTITY, label: 'Document', fields: FIELDS }, contextOf('ann'));
  return makeMany(count, AT_ONCE, async (nth) => {
    const record = ids.next();
    const document = documents[nth % documents.length];
    if (document !== undefined)
      await useCases.records.create(id, ENTITY, valuesOf(document), contextOf('ann'), record);
    return record;
  });
};

const putSynthetic = async (
  corpus: CorpusStore,
  tenant: string,
  records: readonly string[],
  chunks: number,
): Promise<void> => {
  const each = Math.ceil(chunks / records.length);
  for (const [nth, id] of records.entries()) {
    const title = documents[nth % documents.length]?.title ?? '';
    const source = {
      kind: 'entity_record' as const,
      id,
      // Greater than any revision that the indexer writes.
      revision: recordRevision(999_999, 0),
      parent: null,
      title,
      model: 'universal-sentence-encoder-lite-en/1',
      chunks: Array.from({ length: each }, (_, no) => ({
        text: documents[(nth * 7 + no * 13) % documents.length]?.text.slice(0, 150) ?? '',
        hash: `${no}`,
        vector: randomVector(),
      })),
    };
    await corpus.put(tenant, [source]);
  }
};

const randomVector = (): Float32Array => {
  const vector = Float32Array.from({ length: 512 }, () => Math.random() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
};
