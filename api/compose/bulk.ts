import type { Referrers } from '../../application/bulk/cascades.ts';
import { BulkPreviews } from '../../application/bulk/preview.ts';
import { BulkRunner, RUNNER } from '../../application/bulk/runner.ts';
import { BulkSessions, type RecordSelector } from '../../application/bulk/sessions.ts';
import { ofEachTenant, runBulkWorker } from '../../application/bulk/worker.ts';
import { randomUUID } from '../../application/core/runtime/random.ts';
import { type DocumentReader, every } from '../../domain/core/projection.ts';
import { committingSessions } from '../../projections/bulk/bulk.ts';
import { hasReferencesTo } from '../../projections/entities/entities.ts';
import { countRecordsOf, idsOfRecords, referrersOf } from '../../projections/entities/records.ts';
import { type RateLimits, refuse } from '../http/rate-limits.ts';
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
      return hasReferencesTo(entities, tenantId, entityName);
    },
    of: (tenantId, recordId) => every((page) => referrersOf(records, tenantId, recordId, page), PAGE),
  };
};

/** Operations on many records. */
export const composeBulk = (
  core: Core,
  { schemas, records, deletions, writers }: EntitiesArea,
  { jobs }: WorkflowArea,
  limits: Pick<RateLimits, 'previewOf'>,
): Area => {
  const { logger, readModels, stores } = core;
  const deps = { ...core, schemas, records, deletions, writers, jobs, referrers: referrersIn(core) };
  const runner = new BulkRunner({
    ...deps,
    ...RUNNER,
    outOfReachMs: core.config.BULK_GIVE_UP_SECONDS * 1000,
    leases: stores.reads,
    foreground: readModels,
    owner: randomUUID(),
  });
  const bulk = new BulkSessions({
    ...deps,
    selector: selectorOf(readModels.reader('records')),
    previews: new BulkPreviews(deps),
    runner,
  });
  const sessions = readModels.reader('bulk');
  const committing = () => ofEachTenant(committingSessions(sessions));
  return {
    routes: bulkRoutes({
      ...deps,
      bulk,
      takePreviewRows: (tenantId, plan, rows) =>
        refuse(limits.previewOf(tenantId, plan, rows), 'preview_rows'),
    }),
    background: (_lease, signal) => runBulkWorker({ runner, committing, logger }, signal),
    stop: () => runner.stop(),
  };
};
