import type { Position, StoredEvent } from '../../../application/ports/event-store.ts';
import { numberOf } from '../../sqlite/connection.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { checkAppend } from '../checks.ts';
import { ImportError, type ImportedLog, type LogImport } from '../log-import.ts';
import { formatPosition, parseOffset } from '../positions.ts';
import { importedPart, noteImport } from './imported.ts';
import { LogState } from './log-state.ts';
import { openDatabase } from './schema.ts';

/** Imports a log into an embedded event store, each call of `append` in one transaction. */
export const openSqliteImport = (path: string): LogImport => {
  const db = openDatabase(path, { isImport: true });
  const state = new LogState(db);

  const add = ({ stream, revision, position, id, type, data, metadata }: StoredEvent): void => {
    const at = offsetIn(position);
    if (at <= state.end) throw new ImportError(`position ${position} is not after the previous one`);
    const last = state.lastRevisions.find(stream) ?? state.lastRevisions.create(stream);
    if (revision !== last.revision + 1) {
      throw new ImportError(`${stream}@${revision} does not follow revision ${last.revision}`);
    }
    const event = { id, type, data, metadata };
    checkAppend(stream, 'any', [event]);
    const typeId = state.types.idFor(type);
    state.rows.insert([at, last.streamId, revision, typeId], stream, event, state.isPacked);
    state.blocks.note(at, typeId, stream);
    last.revision = revision;
    state.end = at;
  };

  return {
    async begin(log, isNew) {
      if (importedPart(db) === undefined) await isNew();
      return transaction(db, () => {
        state.sync();
        const present = importedPart(db);
        if (present === undefined && state.end > 0) throw new ImportError('the event log is not empty');
        if (present !== undefined && present.id !== log.id) {
          throw new ImportError('the event log holds the import of another export');
        }
        if (present === undefined) noteImport(db, { ...partOf(log), isComplete: false });
        if (present?.isComplete === true) return { isComplete: true, last: log.end };
        return { isComplete: false, last: state.end === 0 ? undefined : formatPosition(state.end) };
      });
    },
    async append(events) {
      try {
        transaction(db, () => {
          state.sync();
          for (const event of events) add(event);
        });
      } catch (error) {
        state.forget();
        throw error;
      }
    },
    async finish(log) {
      transaction(db, () => {
        const present = importedPart(db);
        if (present?.isComplete === true) return;
        const { count } = db.prepare('SELECT count(*) AS count FROM events').get() ?? {};
        const last = db.prepare('SELECT ifnull(max(position), 0) AS last FROM events').get();
        const part = partOf(log);
        if (count !== part.events || numberOf(last, 'last') !== part.last) {
          throw new ImportError(`the event log holds ${count} of ${part.events} events`);
        }
        noteImport(db, { ...part, isComplete: true });
      });
    },
    async close() {
      db.close();
    },
  };
};

const partOf = ({ id, events, end }: ImportedLog) => ({
  id,
  events,
  last: end === undefined ? 0 : offsetIn(end),
});

const offsetIn = (position: Position): number => {
  const offset = parseOffset(position);
  if (offset === undefined) throw new ImportError(`position ${position} is too large for an embedded log`);
  return offset;
};
