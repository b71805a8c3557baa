import { randomUUID } from 'node:crypto';
import { JointEdits } from '../../application/bulk/joint-edits.ts';
import type { RecordSelector, Referrers, RunningSession } from '../../application/bulk/ports.ts';
import { BulkPreviews } from '../../application/bulk/preview.ts';
import { Rows } from '../../application/bulk/rows.ts';
import { BulkRunner, RUNNER } from '../../application/bulk/runner.ts';
import { ofEachTenant, runBulkWorker } from '../../application/bulk/worker.ts';
import { Bulk } from '../../application/bulk.ts';
import type { DocumentReader, PageEnd } from '../../domain/projection.ts';
import { runningSessions } from '../../projections/bulk.ts';
import { entitiesOf } from '../../projections/entities.ts';
import { countRecordsOf, idsOfRecords, referrersOf } from '../../projections/records.ts';
import type { Core } from './core.ts';
import type { EntitiesArea } from './entities.ts';
import type { WorkflowArea } from './workflow.ts';

/** Operations on many records. */
export interface BulkArea {
  readonly bulk: Bulk;
  readonly bulkRunner: BulkRunner;
}

const PAGE = 1000;

const selectorOf = (reader: DocumentReader): RecordSelector => ({
  ids: async function* (tenantId, entityName, by) {
    let after: PageEnd | undefined;
    do {
      const page = await idsOfRecords(reader, tenantId, entityName, { ...by, limit: PAGE, after });
      yield* page.docs;
      after = page.next;
    } while (after !== undefined);
  },
  count: (tenantId, entityName, by) => countRecordsOf(reader, tenantId, entityName, by),
});

const referrersIn = ({ readModels }: Core): Referrers => {
  const entities = readModels.reader('entities');
  const records = readModels.reader('records');
  return {
    canPointTo: async (tenantId, entityName) => {
      let after: PageEnd | undefined;
      do {
        const page = await entitiesOf(entities, tenantId, { limit: PAGE, after });
        const fields = page.docs.flatMap((entity) => entity.fields);
        if (fields.some(({ reference }) => reference?.entity_name === entityName)) return true;
        after = page.next;
      } while (after !== undefined);
      return false;
    },
    of: async function* (tenantId, recordId) {
      let after: PageEnd | undefined;
      do {
        const page = await referrersOf(records, tenantId, recordId, { limit: PAGE, after });
        yield* page.docs;
        after = page.next;
      } while (after !== undefined);
    },
  };
};

export const composeBulk = (
  core: Core,
  { schemas, records, deletions, writers }: EntitiesArea,
  { jobs }: WorkflowArea,
): BulkArea => {
  const { commands, states, codec, ids, clock, logger, stores, readModels } = core;
  const { events } = stores;
  const referrers = referrersIn(core);
  const joint = new JointEdits({ ...core, events, schemas, gate: writers });
  const bulkRunner = new BulkRunner(
    {
      commands,
      events,
      codec,
      leases: stores.reads,
      rows: new Rows({ commands, states, records, deletions, jobs, ids, joint }),
      referrers,
      others: {
        get asked() {
          return readModels.asked;
        },
        longestWait: () => readModels.longestWait(),
        comesTo: (position, ms) => readModels.comesTo('records', position, ms),
      },
      clock,
      logger,
      owner: randomUUID(),
    },
    { ...RUNNER, outOfReachMs: core.config.BULK_GIVE_UP_SECONDS * 1000 },
  );
  const bulk = new Bulk({
    commands,
    states,
    schemas,
    selector: selectorOf(readModels.reader('records')),
    previews: new BulkPreviews({ commands, states, schemas, records, jobs, referrers, ids }),
    runner: bulkRunner,
    events,
    codec,
    clock,
  });
  return { bulk, bulkRunner };
};

/** Works on queued commits, and on those whose process died, until aborted. */
export const runBulkWork = (core: Core, { bulkRunner }: BulkArea, signal: AbortSignal): Promise<void> => {
  const reader = core.readModels.reader('bulk');
  const pages = async function* (): AsyncIterable<readonly RunningSession[]> {
    let after: PageEnd | undefined;
    do {
      const page = await runningSessions(reader, { limit: PAGE, after });
      yield page.docs.map(({ tenant_id: tenantId, session_id: sessionId }) => ({ tenantId, sessionId }));
      after = page.next;
    } while (after !== undefined);
  };
  return runBulkWorker(
    { runner: bulkRunner, running: () => ofEachTenant(pages()), logger: core.logger },
    signal,
  );
};
