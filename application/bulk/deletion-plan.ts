import type { Cascade } from '../../domain/bulk/session-events.ts';
import { keysPointingTo } from '../../domain/entities/deletion.ts';
import type { RecordState } from '../../domain/entities/record.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Blocker } from '../entities/deletion-marks.ts';
import { cascadeOf } from './cascades.ts';

/** A record to delete, the records that its deletion would delete or clear, and the records that prevent it. */
interface Candidate {
  readonly rootId: string;
  /** Entity names by record id, the root included. */
  readonly members: ReadonlyMap<string, string>;
  /** The last blocker is dropped once the plan deletes it. */
  readonly blockers: Blocker[];
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
 * Plans the deletion of many records in any order by the rules of `deletion-marks.ts`, without writing. Once the plan
 * deletes a record, that record prevents no other deletion.
 */
export class DeletionPlan extends WithDeps<PlanFacts> {
  /** Entity names by record id. */
  readonly #removed = new Map<string, string>();
  readonly #cleared = new Map<string, string>();
  readonly #waiting = new Map<string, Candidate>();
  /** Roots of candidates, by the id of the record that prevents their deletion. */
  readonly #blockedBy = new Map<string, string[]>();

  /** Adds a record to delete. */
  async add(rootId: string, entityName: string): Promise<void> {
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
   * Removes the candidate unless a record prevents this; then removes candidates that waited for a removed record.
   */
  #settle(first: Candidate): void {
    const ready = [first];
    for (let candidate = ready.pop(); candidate !== undefined; candidate = ready.pop()) {
      const { rootId, members, blockers, cleared } = candidate;
      let blocker = blockers.at(-1);
      while (blocker !== undefined && this.#removed.has(blocker.referrerId)) {
        blockers.pop();
        blocker = blockers.at(-1);
      }
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
