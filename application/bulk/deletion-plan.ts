import type { Cascade } from '../../domain/bulk/session-events.ts';
import { keysPointingTo } from '../../domain/entities/deletion.ts';
import type { RecordState } from '../../domain/entities/record.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Blocker } from '../entities/deletion-marks.ts';
import { cascadeOf } from './cascades.ts';

/** The records that refer to a record, by what its deletion does to them. The maps hold entity names by record id. */
interface Effects {
  readonly cascades: ReadonlyMap<string, string>;
  readonly cleared: ReadonlyMap<string, string>;
  /** In reverse order; the last one is dropped once the plan deletes it. */
  readonly blockers: Blocker[];
}

interface PlanFacts {
  readonly state: (recordId: string) => Promise<RecordState>;
  readonly referrers: (recordId: string) => AsyncIterable<{ readonly id: string }>;
  /** The reference rule of a field; undefined when it is not a reference. */
  readonly onDelete: (
    entityName: string,
    fieldKey: string,
  ) => Promise<'restrict' | 'clear' | 'cascade' | undefined>;
  /** Called at each record; waits when the time of a slice is used up. */
  readonly pause: () => Promise<void> | undefined;
}

/**
 * Plans the deletion of many records in any order by the rules of `deletion-marks.ts`, without writing. Once the plan
 * deletes a record, that record prevents no other deletion. Reads the referrers of each record once.
 */
export class DeletionPlan extends WithDeps<PlanFacts> {
  /** Entity names by record id. */
  readonly #removed = new Map<string, string>();
  readonly #cleared = new Map<string, string>();
  /** Added records that are not removed, each with the first record that prevents its deletion. */
  readonly #waiting = new Map<
    string,
    { readonly entityName: string; readonly blocker: Blocker | undefined }
  >();
  /** Ids of waiting records, by the id of the record that prevents their deletion. */
  readonly #blockedBy = new Map<string, string[]>();
  /** By id of a visited record that is not removed. */
  readonly #effects = new Map<string, Effects>();

  /** Adds a record to delete. */
  async add(rootId: string, entityName: string): Promise<void> {
    if (this.#removed.has(rootId)) return;
    this.#waiting.set(rootId, { entityName, blocker: undefined });
    const ready = [rootId];
    for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
      const waiting = this.#waiting.get(id);
      if (waiting === undefined) continue;
      const members = await this.#membersOf(id, waiting.entityName);
      const blocker = this.#firstBlocker(members);
      if (blocker === undefined) {
        for (const freed of this.#remove(members)) ready.push(freed);
        continue;
      }
      this.#waiting.set(id, { ...waiting, blocker });
      const others = this.#blockedBy.get(blocker.referrerId);
      if (others === undefined) this.#blockedBy.set(blocker.referrerId, [id]);
      else others.push(id);
    }
  }

  /** The record that prevents the deletion of `rootId`; call it after all records were added. */
  blockerOf(rootId: string): Blocker | undefined {
    return this.#waiting.get(rootId)?.blocker;
  }

  /** Counts the deleted records that are not selected, and the cleared records. */
  summary(selected: ReadonlySet<string>): Cascade {
    return cascadeOf(this.#removed, this.#cleared, selected);
  }

  /** The records that a deletion of the root would delete: entity names by record id, the root included. */
  async #membersOf(rootId: string, entityName: string): Promise<ReadonlyMap<string, string>> {
    const members = new Map([[rootId, entityName]]);
    // The loop also visits members that it adds.
    for (const targetId of members.keys()) {
      const wait = this.deps.pause();
      if (wait !== undefined) await wait;
      const { cascades } = this.#effects.get(targetId) ?? (await this.#effectsOf(targetId));
      for (const [id, name] of cascades) if (!this.#removed.has(id)) members.set(id, name);
    }
    return members;
  }

  async #effectsOf(targetId: string): Promise<Effects> {
    const cascades = new Map<string, string>();
    const cleared = new Map<string, string>();
    const blockers: Blocker[] = [];
    for await (const { id } of this.deps.referrers(targetId)) {
      const wait = this.deps.pause();
      if (wait !== undefined) await wait;
      const found = await this.#visit(id, targetId);
      if (found === undefined) continue;
      if (found.rule === 'cascade') cascades.set(id, found.entityName);
      else if (found.rule === 'clear') cleared.set(id, found.entityName);
      else blockers.push({ targetId, referrerId: id, ...found });
    }
    const effects = { cascades, cleared, blockers: blockers.reverse() };
    this.#effects.set(targetId, effects);
    return effects;
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

  #firstBlocker(members: ReadonlyMap<string, string>): Blocker | undefined {
    for (const id of members.keys()) {
      const blockers = this.#effects.get(id)?.blockers ?? [];
      while (this.#removed.has(blockers.at(-1)?.referrerId ?? '')) blockers.pop();
      const found = blockers.findLast(
        ({ referrerId }) => !members.has(referrerId) && !this.#removed.has(referrerId),
      );
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** @returns ids of the records that waited for a removed record */
  #remove(members: ReadonlyMap<string, string>): readonly string[] {
    const freed: string[] = [];
    for (const [id, name] of members) {
      this.#removed.set(id, name);
      this.#waiting.delete(id);
      for (const cleared of this.#effects.get(id)?.cleared ?? []) this.#cleared.set(...cleared);
      this.#effects.delete(id);
      for (const waitingId of this.#blockedBy.get(id) ?? []) freed.push(waitingId);
      this.#blockedBy.delete(id);
    }
    return freed;
  }
}
