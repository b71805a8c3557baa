import type { RecordSelector, Referrers, RunningSession } from '../../application/bulk/ports.ts';
import { BulkPreviews } from '../../application/bulk/preview.ts';
import { RowExecutor } from '../../application/bulk/row-executor.ts';
import { Bulk } from '../../application/bulk/sessions.ts';
import { BulkRunner, ofEachTenant, RUNNER, runBulkWorker } from '../../application/bulk/worker.ts';
import { randomUUID } from '../../application/core/runtime/random.ts';
import { type DocumentReader, every, type PageEnd } from '../../domain/core/projection.ts';
import { runningSessions } from '../../projections/bulk/bulk.ts';
import { entitiesOf } from '../../projections/entities/entities.ts';
import { countRecordsOf, idsOfRecords, referrersOf } from '../../projections/entities/records.ts';
import { previewLimit } from '../http/preview-limit.ts';
import { bulkRoutes } from '../routes/bulk/bulk.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';
import type { EntitiesArea } from './entities.ts';
import type { WorkflowArea } from './workflow.ts';

const PAGE = 1000;

const selectorOf = (reader: DocumentReader): RecordSelector => ({
  ids: (tenantId, entityName, by) =>
    every((page) => idsOfRecords(reader, tenantId, entityName, { ...by, ...page }), PAGE),
  count: (tenantId, entityName, by) => countRecordsOf(reader, tenantId, entityName, by),
});

const referrersIn = ({ readModels }: Core): Referrers => {
  const entities = readModels.reader('entities');
  const records = readModels.reader('records');
  return {
    canPointTo: async (tenantId, entityName) => {
      await readModels.waitFor(tenantId, ['entities'], undefined);
      let after: PageEnd | undefined;
      do {
        const page = await entitiesOf(entities, tenantId, { limit: PAGE, after });
        const fields = page.docs.flatMap((entity) => entity.fields);
        if (fields.some(({ reference }) => reference?.entity_name === entityName)) return true;
        after = page.next;
      } while (after !== undefined);
      return false;
    },
    of: (tenantId, recordId) => every((page) => referrersOf(records, tenantId, recordId, page), PAGE),
  };
};

/** Operations on many records. */
export const composeBulk = (
  core: Core,
  { schemas, records, deletions, writers }: EntitiesArea,
  { jobs }: WorkflowArea,
) => {
  const { streams, codec, ids, clock, logger, stores, readModels } = core;
  const { events } = stores;
  const referrers = referrersIn(core);
  const rows = new RowExecutor({ streams, schemas, writers, records, deletions, jobs, ids });
  const bulkRunner = new BulkRunner(
    {
      streams,
      events,
      codec,
      leases: stores.reads,
      rows,
      referrers,
      foreground: {
        get asked() {
          return readModels.asked;
        },
        longestWait: () => readModels.longestWait(),
        comesTo: (position, ms) => readModels.comesTo('records', position, ms),
      },
      turns: core.turns,
      clock,
      logger,
      metrics: core.metrics,
      owner: randomUUID(),
    },
    { ...RUNNER, outOfReachMs: core.config.BULK_GIVE_UP_SECONDS * 1000 },
  );
  const bulk = new Bulk({
    streams,
    schemas,
    selector: selectorOf(readModels.reader('records')),
    previews: new BulkPreviews({ streams, schemas, records, jobs, referrers, ids }),
    runner: bulkRunner,
    events,
    codec,
    clock,
  });
  return {
    bulk,
    routes: bulkRoutes({ ids, readModels, schemas, bulk, takePreviewRows: previewLimit(clock) }),
    background: (_lease, signal) =>
      runBulkWorker({ runner: bulkRunner, running: runningIn(core), logger }, signal),
    stop: () => bulkRunner.stop(),
  } satisfies Area & Record<string, unknown>;
};

/** Sessions in commit, including those of crashed processes. */
const runningIn = ({ readModels }: Core): (() => Promise<readonly RunningSession[]>) => {
  const reader = readModels.reader('bulk');
  const pages = async function* (): AsyncIterable<readonly RunningSession[]> {
    let after: PageEnd | undefined;
    do {
      const page = await runningSessions(reader, { limit: PAGE, after });
      yield page.docs.map(({ tenant_id: tenantId, session_id: sessionId }) => ({ tenantId, sessionId }));
      after = page.next;
    } while (after !== undefined);
  };
  return () => ofEachTenant(pages());
};
