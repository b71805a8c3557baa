import { extractiveAnswerer } from '../../application/assistant/answering.ts';
import { Assistant } from '../../application/assistant/assistant.ts';
import { Backfills, type CorpusInventory } from '../../application/assistant/backfill.ts';
import { Completion } from '../../application/assistant/completion.ts';
import { Corpus } from '../../application/assistant/corpus.ts';
import { Retrieval, type SourceRecord } from '../../application/assistant/retrieval.ts';
import { retrievalIndexer } from '../../application/assistant/retrieval-indexer.ts';
import { Sources } from '../../application/assistant/sources.ts';
import { upstreamAnswerer } from '../../application/assistant/upstream.ts';
import { randomUUID } from '../../application/core/runtime/random.ts';
import type { SourceKey } from '../../application/ports/corpus-store.ts';
import { every } from '../../domain/core/projection.ts';
import { recordStream } from '../../domain/entities/record.ts';
import { fileStream } from '../../domain/files/file.ts';
import { hasAssistant } from '../../domain/tenancy/tenant.ts';
import { recordsOfTenant } from '../../projections/entities/records.ts';
import { allFilesOf } from '../../projections/files/files.ts';
import { assistantRoutes } from '../routes/assistant/assistant.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';
import { upstreamHttp } from './outbound.ts';

const LEASE_MS = 5000;

const inventoryIn = ({ readModels, events }: Core): CorpusInventory => {
  const records = readModels.reader('records');
  const files = readModels.reader('files');
  return {
    records: async function* (tenantId) {
      await readModels.waitFor(tenantId, ['records'], await events.end());
      for await (const doc of every((page) => recordsOfTenant(records, tenantId, page))) {
        const { id, entity_name: entityName, values, version, listed } = doc;
        if (listed !== null) yield { id, entityName, values, version };
      }
    },
    attachments: async function* (tenantId) {
      await readModels.waitFor(tenantId, ['files'], await events.end());
      for await (const { id, ...facts } of every((page) => allFilesOf(files, tenantId, page)))
        yield { file_id: id, ...facts };
    },
  };
};

/** Looks up the record of a source in the streams: a deleted source is missing at once, even if the corpus lags. */
const recordIn = ({ states }: Core) => {
  const live = async (tenantId: string, recordId: string): Promise<SourceRecord | undefined> => {
    const { state } = await states.load(tenantId, recordStream, recordId);
    return state.status === 'live' ? { recordId, entityName: state.entityName } : undefined;
  };
  return async (tenantId: string, { kind, id }: SourceKey): Promise<SourceRecord | undefined> => {
    if (kind === 'entity_record') return live(tenantId, id);
    const { state } = await states.load(tenantId, fileStream, id);
    return state.status === 'attached' ? live(tenantId, state.record_id) : undefined;
  };
};

const answererIn = ({ adapters, config, logger }: Core) => {
  const { ASSISTANT_BASE_URL: baseUrl, ASSISTANT_API_KEY: apiKey } = config;
  if (baseUrl === undefined) return extractiveAnswerer;
  const settings = {
    baseUrl,
    apiKey,
    model: config.ASSISTANT_MODEL ?? 'default',
    timeoutMs: config.ASSISTANT_TIMEOUT_MS,
  };
  return upstreamAnswerer(settings, { http: upstreamHttp(adapters), logger });
};

/** The assistant and its corpus. */
export const composeAssistant = (core: Core): Area => {
  const { config, directory, logger, stores } = core;
  const { embedder, search } = core.adapters.embedding(config, logger, stores.corpus);
  const store = stores.corpus;
  const corpus = new Corpus({ store, embedder });
  const sources = new Sources({ ...core, blobs: stores.blobs });
  const backfills = new Backfills({
    ...core,
    corpus,
    sources,
    inventory: inventoryIn(core),
    store,
    lease: { store: stores.reads, logger, owner: randomUUID(), ttlMs: LEASE_MS },
    checkModel: () => embedder.embed(['ready'], 'question'),
  });
  const completion = new Completion({
    ...core,
    store,
    corpus,
    isEntitled: async (tenantId) => {
      const tenant = await directory.tenant(tenantId);
      return tenant !== undefined && hasAssistant(tenant);
    },
  });
  const assistant = new Assistant({
    ...core,
    retrieval: new Retrieval({ embedder, search, recordOf: recordIn(core) }),
    answerer: answererIn(core),
  });
  return {
    routes: assistantRoutes({ assistant, backfills }),
    subscribers: [retrievalIndexer({ corpus, sources, directory, completion })],
    // Closing the embedder also ends calls that wait for a vector.
    stop: () => Promise.all([embedder.close(), search.close(), backfills.stop(), completion.stop()]),
  };
};
