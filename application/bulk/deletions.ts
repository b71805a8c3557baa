import type { Cascade } from '../../domain/bulk/session-events.ts';
import { keysPointingTo } from '../../domain/entities/deletion.ts';
import type { RecordState } from '../../domain/entities/record.ts';
import type { Hindrance } from '../deletion-marks.ts';

/** What a deletion would take along, clear, or be hindered by, as far as it is known now. */
interface Candidate {
  readonly rootId: string;
  /** Entity names by id; the root is one of them. */
  readonly members: ReadonlyMap<string, string>;
  readonly hindrances: readonly Hindrance[];
  readonly cleared: ReadonlyMap<string, string>;
}

export interface PlanFacts {
  readonly state: (recordId: string) => Promise<RecordState>;
  readonly referrers: (recordId: string) => AsyncIterable<{ readonly id: string }>;
  /** What becomes of a record of the entity when its field's target is deleted; undefined for no reference. */
  readonly onDelete: (
    entityName: string,
    fieldKey: string,
  ) => Promise<'restrict' | 'clear' | 'cascade' | undefined>;
}

/**
 * The deletion of many records, thought through without writing: by the rules of `deletion-marks.ts`, and whatever
 * order a commit takes. A record that restricts another one stands in its way only as long as it is not deleted itself.
 */
export class DeletionPlan {
  readonly #facts: PlanFacts;
  /** Entity names by id. */
  readonly #removed = new Map<string, string>();
  readonly #cleared = new Map<string, string>();
  readonly #waiting = new Map<string, Candidate>();
  /** Candidates by what hinders them. */
  readonly #hinderedBy = new Map<string, string[]>();

  constructor(facts: PlanFacts) {
    this.#facts = facts;
  }

  /** Takes up a record that is asked to be deleted. */
  async consider(rootId: string, entityName: string): Promise<void> {
    if (this.#removed.has(rootId)) return;
    this.#settle(await this.#candidate(rootId, entityName));
  }

  /** What stands against the deletion of a record that was considered, once all of them were. */
  hindranceOf(rootId: string): Hindrance | undefined {
    return this.#removed.has(rootId)
      ? undefined
      : this.#waiting.get(rootId)?.hindrances.find(({ referrerId }) => !this.#removed.has(referrerId));
  }

  /** What happens to records other than the selected ones. */
  summary(selected: ReadonlySet<string>): Cascade {
    const beside = [...this.#removed].filter(([id]) => !selected.has(id));
    const cleared = [...this.#cleared].filter(([id]) => !this.#removed.has(id));
    return cascadeOf(
      beside.map(([, name]) => name),
      cleared.map(([, name]) => name),
    );
  }

  async #candidate(rootId: string, entityName: string): Promise<Candidate> {
    const members = new Map([[rootId, entityName]]);
    const hindrances: Hindrance[] = [];
    const cleared = new Map<string, string>();
    let level = [rootId];
    while (level.length > 0) {
      const next: string[] = [];
      for (const targetId of level) {
        for await (const { id } of this.#facts.referrers(targetId)) {
          if (members.has(id) || this.#removed.has(id)) continue;
          const found = await this.#visit(id, targetId);
          if (found === undefined) continue;
          if (found.rule === 'cascade') {
            members.set(id, found.entityName);
            next.push(id);
          } else if (found.rule === 'clear') cleared.set(id, found.entityName);
          else hindrances.push({ targetId, referrerId: id, ...found });
        }
      }
      level = next;
    }
    return {
      rootId,
      members,
      hindrances: hindrances.filter(({ referrerId }) => !members.has(referrerId)),
      cleared,
    };
  }

  async #visit(id: string, targetId: string) {
    const state = await this.#facts.state(id);
    if (state.status !== 'live') return undefined;
    const { entityName } = state;
    let found: { rule: 'restrict' | 'clear'; entityName: string; fieldKey: string } | undefined;
    for (const fieldKey of keysPointingTo(state, targetId)) {
      const rule = await this.#facts.onDelete(entityName, fieldKey);
      if (rule === 'cascade') return { rule, entityName, fieldKey };
      if (found?.rule !== 'restrict') found = { rule: rule ?? 'clear', entityName, fieldKey };
    }
    return found;
  }

  /** Removes what can be removed, and what waited for just that. */
  #settle(first: Candidate): void {
    const ready = [first];
    for (let candidate = ready.pop(); candidate !== undefined; candidate = ready.pop()) {
      const { rootId, members, hindrances, cleared } = candidate;
      const hindrance = hindrances.find(({ referrerId }) => !this.#removed.has(referrerId));
      if (hindrance !== undefined) {
        this.#waiting.set(rootId, candidate);
        const others = this.#hinderedBy.get(hindrance.referrerId);
        if (others === undefined) this.#hinderedBy.set(hindrance.referrerId, [rootId]);
        else others.push(rootId);
        continue;
      }
      for (const [id, name] of members) {
        this.#removed.set(id, name);
        this.#waiting.delete(id);
        for (const waitingId of this.#hinderedBy.get(id) ?? []) {
          const waiting = this.#waiting.get(waitingId);
          if (waiting !== undefined) ready.push(waiting);
        }
        this.#hinderedBy.delete(id);
      }
      for (const [id, name] of cleared) this.#cleared.set(id, name);
    }
  }
}

/** @param deleted names of entities, one for each record */
export const cascadeOf = (deleted: Iterable<string>, cleared: Iterable<string>): Cascade => {
  const counted = (names: Iterable<string>, action: 'delete' | 'clear') => {
    const counts = new Map<string, number>();
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].map(([entity_name, count]) => ({ entity_name, action, count }));
  };
  const by_entity = [...counted(deleted, 'delete'), ...counted(cleared, 'clear')].toSorted((a, b) =>
    a.entity_name < b.entity_name ? -1 : a.entity_name > b.entity_name ? 1 : 0,
  );
  return { by_entity, total: by_entity.reduce((sum, { count }) => sum + count, 0) };
};
