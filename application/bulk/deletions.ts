import type { Cascade } from '../../domain/bulk/session-events.ts';
import { keysPointingTo } from '../../domain/entities/deletion.ts';
import {
  RecordDeleted,
  type RecordState,
  RecordUpdated,
  recordStream,
} from '../../domain/entities/record.ts';
import { dataOf, type EventCodec } from '../core/events/event-codec.ts';
import { tenantPrefix } from '../core/events/stream-name.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Blocker } from '../entities/deletion-marks.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { CommitRun } from './row.ts';

export const NO_CASCADE: Cascade = { by_entity: [], total: 0 };

export interface Referrers {
  /** Whether any entity has a reference field whose target is this entity. */
  canPointTo(tenantId: string, entityName: string): Promise<boolean>;
  /** Records that refer to a record. */
  of(tenantId: string, recordId: string): AsyncIterable<{ readonly id: string }>;
}

/** Prefix of the ids of a session's deletions: a record's deletion id shows which session deleted the record. */
export const deletionPrefix = (sessionId: string): string => `bulk:${sessionId}:`;

export const isDeletionOf = (sessionId: string, deletionId: string): boolean =>
  deletionId.startsWith(deletionPrefix(sessionId));

/** A record to delete, the records that its deletion would delete or clear, and the records that prevent it. */
interface Candidate {
  readonly rootId: string;
  /** Entity names by record id, the root included. */
  readonly members: ReadonlyMap<string, string>;
  readonly blockers: readonly Blocker[];
  readonly cleared: ReadonlyMap<string, string>;
}

interface PlanFacts {
  readonly state: (recordId: string) => Promise<RecordState>;
  readonly referrers: (recordId: string) => AsyncIterable<{ readonly id: string }>;
  /** The reference rule of a field; undefined when it is not a reference. */
  readonly onDelete: (
    entityName: string,
    fieldKey: string,
  ) => Promise<'restrict' | 'clear' | 'cascade' | undefined>;
}

/**
 * Plans the deletion of many records in any order by the rules of `deletion-marks.ts`, without writing. A record that
 * prevents the deletion of another record does so only until it is planned for deletion itself.
 */
export class DeletionPlan extends WithDeps<PlanFacts> {
  /** Entity names by record id. */
  readonly #removed = new Map<string, string>();
  readonly #cleared = new Map<string, string>();
  readonly #waiting = new Map<string, Candidate>();
  /** Roots of candidates, by the id of the record that prevents their deletion. */
  readonly #blockedBy = new Map<string, string[]>();

  /** Adds a record to delete. */
  async consider(rootId: string, entityName: string): Promise<void> {
    if (this.#removed.has(rootId)) return;
    this.#settle(await this.#candidate(rootId, entityName));
  }

  /** The record that prevents the deletion of `rootId`; call it after all records were added. */
  blockerOf(rootId: string): Blocker | undefined {
    return this.#removed.has(rootId)
      ? undefined
      : this.#waiting.get(rootId)?.blockers.find(({ referrerId }) => !this.#removed.has(referrerId));
  }

  /** Counts the deleted records that are not selected, and the cleared records. */
  summary(selected: ReadonlySet<string>): Cascade {
    return cascadeOf(this.#removed, this.#cleared, selected);
  }

  async #candidate(rootId: string, entityName: string): Promise<Candidate> {
    const members = new Map([[rootId, entityName]]);
    const blockers: Blocker[] = [];
    const cleared = new Map<string, string>();
    let level = [rootId];
    while (level.length > 0) {
      const next: string[] = [];
      for (const targetId of level) {
        for await (const { id } of this.deps.referrers(targetId)) {
          if (members.has(id) || this.#removed.has(id)) continue;
          const found = await this.#visit(id, targetId);
          if (found === undefined) continue;
          if (found.rule === 'cascade') {
            members.set(id, found.entityName);
            next.push(id);
          } else if (found.rule === 'clear') cleared.set(id, found.entityName);
          else blockers.push({ targetId, referrerId: id, ...found });
        }
      }
      level = next;
    }
    return {
      rootId,
      members,
      blockers: blockers.filter(({ referrerId }) => !members.has(referrerId)),
      cleared,
    };
  }

  async #visit(id: string, targetId: string) {
    const state = await this.deps.state(id);
    if (state.status !== 'live') return undefined;
    const { entityName } = state;
    let found: { rule: 'restrict' | 'clear'; entityName: string; fieldKey: string } | undefined;
    for (const fieldKey of keysPointingTo(state, targetId)) {
      const rule = await this.deps.onDelete(entityName, fieldKey);
      if (rule === 'cascade') return { rule, entityName, fieldKey };
      if (found?.rule !== 'restrict') found = { rule: rule ?? 'clear', entityName, fieldKey };
    }
    return found;
  }

  /**
   * Removes the candidate unless a record prevents it, then the candidates that waited for one of the removed records.
   */
  #settle(first: Candidate): void {
    const ready = [first];
    for (let candidate = ready.pop(); candidate !== undefined; candidate = ready.pop()) {
      const { rootId, members, blockers, cleared } = candidate;
      const blocker = blockers.find(({ referrerId }) => !this.#removed.has(referrerId));
      if (blocker !== undefined) {
        this.#waiting.set(rootId, candidate);
        const others = this.#blockedBy.get(blocker.referrerId);
        if (others === undefined) this.#blockedBy.set(blocker.referrerId, [rootId]);
        else others.push(rootId);
        continue;
      }
      for (const [id, name] of members) {
        this.#removed.set(id, name);
        this.#waiting.delete(id);
        for (const waitingId of this.#blockedBy.get(id) ?? []) {
          const waiting = this.#waiting.get(waitingId);
          if (waiting !== undefined) ready.push(waiting);
        }
        this.#blockedBy.delete(id);
      }
      for (const [id, name] of cleared) this.#cleared.set(id, name);
    }
  }
}

const PAGE = 1000;

/**
 * Counts the records outside the session's rows that the session deleted, and the records in which it cleared
 * references; undefined if the operation is no deletion. Reads the log, so that the number of runs does not matter.
 */
export const countCascade = async (
  deps: { readonly events: EventStore; readonly codec: EventCodec; readonly referrers: Referrers },
  { opParams, tenantId, sessionId, entityName, since }: CommitRun,
  rows: readonly string[],
): Promise<Cascade | undefined> => {
  if (opParams.kind !== 'delete') return undefined;
  if (!(await deps.referrers.canPointTo(tenantId, entityName))) return NO_CASCADE;
  const filter = {
    streamPrefix: `${tenantPrefix(tenantId)}${recordStream.category}-`,
    types: [RecordDeleted.type, RecordUpdated.type],
  };
  /** Entity names by record id. */
  const deleted = new Map<string, string>();
  /** Records in which any deletion cleared a reference; `by` is the deleted record to which the reference pointed. */
  const clears: { readonly id: string; readonly name: string; readonly by: string }[] = [];
  for (let from = since; ; ) {
    const page = await deps.events.readAll({ from, filter, limit: PAGE });
    for (const stored of page) {
      const event = deps.codec.decodeOnce(stored);
      const gone = dataOf(RecordDeleted, event);
      if (gone !== undefined && isDeletionOf(sessionId, gone.deletion_id)) {
        deleted.set(gone.record_id, gone.entity_name);
      }
      const updated = dataOf(RecordUpdated, event);
      if (updated?.cleared_by !== undefined) {
        const { record_id: id, entity_name: name, cleared_by: by } = updated;
        clears.push({ id, name, by });
      }
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    from = last.position;
  }
  const cleared = new Map(clears.filter(({ by }) => deleted.has(by)).map(({ id, name }) => [id, name]));
  return cascadeOf(deleted, cleared, new Set(rows));
};

/** `deleted` and `cleared` hold entity names by record id. */
const cascadeOf = (
  deleted: ReadonlyMap<string, string>,
  cleared: ReadonlyMap<string, string>,
  selected: ReadonlySet<string>,
): Cascade => {
  const beside = [...deleted].filter(([id]) => !selected.has(id));
  const kept = [...cleared].filter(([id]) => !deleted.has(id));
  const counted = (records: typeof beside, action: 'delete' | 'clear') => {
    const counts = new Map<string, number>();
    for (const [, name] of records) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].map(([entity_name, count]) => ({ entity_name, action, count }));
  };
  const by_entity = [...counted(beside, 'delete'), ...counted(kept, 'clear')].toSorted((a, b) =>
    a.entity_name < b.entity_name ? -1 : a.entity_name > b.entity_name ? 1 : 0,
  );
  return { by_entity, total: by_entity.reduce((sum, { count }) => sum + count, 0) };
};
