import { WriterGate } from '../../application/core/commands/writer-gate.ts';
import type { RecordFinder } from '../../application/entities/deletion-marks.ts';
import { Deletions } from '../../application/entities/deletions.ts';
import { noteNotifier } from '../../application/entities/note-notifier.ts';
import { recordDeleter } from '../../application/entities/record-deleter.ts';
import { RecordLinks } from '../../application/entities/record-links.ts';
import { RecordNotes } from '../../application/entities/record-notes.ts';
import { Records } from '../../application/entities/records.ts';
import { jobStarter, schemaChanger } from '../../application/entities/schema-subscribers.ts';
import { type FindBroken, Schemas } from '../../application/entities/schemas.ts';
import type { PublishedWorkflows } from '../../application/workflow/workflow-uses.ts';
import { every } from '../../domain/core/projection.ts';
import { brokenBy } from '../../domain/entities/tightenings.ts';
import {
  allRecordsOf,
  type RecordDoc,
  recordsBeingDeleted,
  referrersOf,
} from '../../projections/entities/records.ts';
import { entityRoutes } from '../routes/entities/entities.ts';
import { noteRoutes } from '../routes/entities/notes.ts';
import { recordRoutes } from '../routes/entities/records.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';
import type { WorkflowArea } from './workflow.ts';

const RECORDS = ['records'];

const finderOf = ({ readModels }: Core): RecordFinder => {
  const reader = readModels.reader('records');
  return {
    readTo: async (tenantId, position) => {
      await readModels.waitFor(tenantId, RECORDS, position);
    },
    referrers: (tenantId, id) => every((page) => referrersOf(reader, tenantId, id, page)),
    beingDeleted: (tenantId, id) => every((page) => recordsBeingDeleted(reader, tenantId, id, page)),
  };
};

/** All records of an entity, up to the present end of the log. */
const allRecordsIn = ({ readModels, events }: Core) => {
  const reader = readModels.reader('records');
  return async function* (tenantId: string, entityName: string): AsyncIterable<RecordDoc> {
    await readModels.waitFor(tenantId, RECORDS, await events.end());
    yield* every((page) => allRecordsOf(reader, tenantId, entityName, page));
  };
};

const findBrokenIn =
  (allRecords: (tenantId: string, entityName: string) => AsyncIterable<RecordDoc>): FindBroken =>
  async (tenantId, entityName, rules) => {
    for await (const { values } of allRecords(tenantId, entityName)) {
      const broken = brokenBy(rules, values);
      if (broken !== undefined) return broken;
    }
    return undefined;
  };

/** Schemas, records with their references, and notes. */
export const composeEntities = (core: Core, { workflows: definitions }: WorkflowArea) => {
  const { readModels } = core;
  const workflows: PublishedWorkflows = (tenantId, name) => definitions.published(tenantId, name);
  const writers = new WriterGate();
  const allRecords = allRecordsIn(core);
  const base = { ...core, gate: writers, workflows, allRecords };
  const schemas = new Schemas({ ...base, findBroken: findBrokenIn(allRecords) });
  const links = new RecordLinks(core);
  const deletions = new Deletions({
    ...core,
    links,
    schemas,
    finder: finderOf(core),
    answered: (tenantId, position) => readModels.answered(tenantId, position),
  });
  const records = new Records({ ...base, schemas, links });
  const notes = new RecordNotes(core);
  const deps = { ...core, schemas, records, deletions, notes };
  return {
    schemas,
    records,
    deletions,
    writers,
    routes: [...entityRoutes(deps), ...recordRoutes(deps), ...noteRoutes(deps)],
    subscribers: [recordDeleter(deps), jobStarter(base), schemaChanger(deps), noteNotifier(core)],
  } satisfies Area & Record<string, unknown>;
};

export type EntitiesArea = ReturnType<typeof composeEntities>;
