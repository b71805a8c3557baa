import type { RecordFinder } from '../../application/deletion-marks.ts';
import { Deletions } from '../../application/deletions.ts';
import { Notes } from '../../application/notes.ts';
import { RecordLinks } from '../../application/record-links.ts';
import { Records } from '../../application/records.ts';
import { type FindBroken, Schemas } from '../../application/schemas.ts';
import type { Subscriber } from '../../application/subscriber.ts';
import { noteNotifier } from '../../application/subscribers/note-notifier.ts';
import { recordDeleter } from '../../application/subscribers/record-deleter.ts';
import { jobStarter, schemaChanger } from '../../application/subscribers/schema-follower.ts';
import type { PublishedWorkflows } from '../../application/workflow-uses.ts';
import { WriterGate } from '../../application/writer-gate.ts';
import { brokenBy } from '../../domain/entities/schema-changes.ts';
import { every } from '../../domain/projection.ts';
import { allRecordsOf, type RecordDoc, recordsBeingDeleted, referrersOf } from '../../projections/records.ts';
import type { Core } from './core.ts';

/** Schemas, records with their references, and notes. */
export interface EntitiesArea {
  readonly schemas: Schemas;
  readonly records: Records;
  readonly notes: Notes;
  readonly deletions: Deletions;
  readonly writers: WriterGate;
}

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

/** As far as the log goes when it is asked. */
const allRecordsIn = ({ readModels, stores }: Core) => {
  const reader = readModels.reader('records');
  return async function* (tenantId: string, entityName: string): AsyncIterable<RecordDoc> {
    await readModels.waitFor(tenantId, RECORDS, await stores.events.head());
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

export const composeEntities = (core: Core, workflows: PublishedWorkflows): EntitiesArea => {
  const { commands, states, directory, ids, readModels } = core;
  const writers = new WriterGate();
  const findBroken = findBrokenIn(allRecordsIn(core));
  const schemas = new Schemas({ commands, states, gate: writers, workflows, findBroken });
  const links = new RecordLinks({ commands, states, directory, ids });
  const deletions = new Deletions({
    commands,
    links,
    schemas,
    finder: finderOf(core),
    answered: (tenantId, position) => readModels.answered(tenantId, position),
  });
  return {
    schemas,
    records: new Records({ commands, schemas, links, deletions, workflows, gate: writers }),
    notes: new Notes({ commands, directory }),
    deletions,
    writers,
  };
};

export const entitySubscribers = (
  core: Core,
  { deletions, schemas, writers }: EntitiesArea,
  workflows: PublishedWorkflows,
): readonly Subscriber[] => {
  const { commands, clock } = core;
  return [
    recordDeleter({ deletions }),
    jobStarter({ commands, workflows, gate: writers, allRecords: allRecordsIn(core) }),
    schemaChanger({ schemas, clock }),
    noteNotifier({ commands }),
  ];
};
