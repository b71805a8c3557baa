import {
  type DeletionAttempt,
  isPartOf,
  keysPointingTo,
  markForDeletion,
} from '../../domain/entities/deletion.ts';
import type { Values } from '../../domain/entities/fields.ts';
import { runInGroups } from '../core/concurrency/background-scheduler.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { monotonic, pause } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import { latest, type Position } from '../ports/event-store.ts';
import type { RecordLinks } from './record-links.ts';
import type { Schemas } from './schemas.ts';

/** An attempt to delete a record of a tenant, and the cause of its events. */
export interface CausedAttempt extends DeletionAttempt {
  readonly tenantId: string;
  readonly cause: Cause;
}

/** A record of the read model that refers to other records. */
export interface Referrer {
  readonly id: string;
  readonly entity_name: string;
  readonly values: Values;
}

/** Finds records in the read model, once it has folded the log up to a position. */
export interface RecordFinder {
  /**
   * Waits until the read model has folded `position`; undefined means the last position answered to the tenant.
   * @throws `read_model_behind`
   */
  readTo(tenantId: string, position: Position | undefined): Promise<void>;
  referrers(tenantId: string, targetId: string): AsyncIterable<Referrer>;
  beingDeleted(tenantId: string, deletionId: string): AsyncIterable<{ readonly id: string }>;
}

/** A record that must stay and refers to a record to delete. */
export interface Blocker {
  readonly targetId: string;
  readonly referrerId: string;
  readonly entityName: string;
  readonly fieldKey: string;
}

/** Another deletion has marked a record that this deletion needs. */
export class Contended extends Error {
  override readonly name = 'Contended';
}

const POLL_MS = 15;

/** The first step of a deletion: marks all records to delete, and finds a record that prevents the deletion. */
export class DeletionMarks extends WithDeps<{
  readonly links: RecordLinks;
  readonly schemas: Schemas;
  readonly finder: RecordFinder;
  /** How long (ms) to wait for another deletion that has marked a record. */
  readonly waitMs: number;
}> {
  /**
   * Marks all records to delete; returns a record that prevents the deletion, if there is one.
   * @throws {Contended}, `read_model_behind`
   */
  async mark(attempt: CausedAttempt): Promise<Blocker | undefined> {
    const { tenantId, cause } = attempt;
    const members = new Set([attempt.rootId]);
    const blockers: Blocker[] = [];
    let level = [attempt.rootId];
    let last: Position | undefined;
    while (level.length > 0) {
      const written = new Map<string, ReadonlySet<string>>();
      for (const id of level) {
        const state = await this.deps.links.fresh(tenantId, id);
        if (state.status !== 'deleting' || !state.referenced) continue;
        written.set(id, await this.deps.links.settle(tenantId, id, state.pending, cause));
      }
      if (written.size === 0) break;
      for (const id of written.keys()) {
        last = latest(last, (await this.deps.links.read(tenantId, id)).position);
      }
      await this.deps.finder.readTo(tenantId, last);
      const next: string[] = [];
      for (const [targetId, alsoThese] of written) {
        const seen = new Set<string>();
        const visit = async ({ id }: { readonly id: string }): Promise<void> => {
          if (seen.has(id) || members.has(id)) return;
          seen.add(id);
          const found = await this.#visit(attempt, id, targetId);
          if (found === 'marked' && !members.has(id)) {
            members.add(id);
            next.push(id);
          } else if (typeof found === 'object') blockers.push(found);
        };
        await each(this.deps.finder.referrers(tenantId, targetId), visit);
        for (const id of alsoThese) await visit({ id });
      }
      level = next;
    }
    return this.firstThatBlocks(
      tenantId,
      blockers.filter(({ referrerId }) => !members.has(referrerId)),
    );
  }

  /**
   * Marks a referrer that the deletion takes along. Returns a blocker for a referrer that must stay; undefined if the
   * reference is to be cleared or does not exist any more.
   */
  async #visit(
    attempt: CausedAttempt,
    id: string,
    targetId: string,
  ): Promise<'marked' | Blocker | undefined> {
    const { tenantId, cause } = attempt;
    const deadline = monotonic() + this.deps.waitMs;
    for (;;) {
      const state = await this.deps.links.fresh(tenantId, id);
      const keys = keysPointingTo(state, targetId);
      if (keys.length === 0 || !('entityName' in state)) return undefined;
      const { entityName } = state;
      // Another node may just have changed the entity's reference rules.
      const schema = await this.deps.schemas.findLatest(tenantId, entityName);
      const rules = new Map(schema?.fields.map(({ key, reference }) => [key, reference?.on_delete]));
      const restricting = keys.find((key) => rules.get(key) === 'restrict');
      if (!keys.some((key) => rules.get(key) === 'cascade')) {
        return restricting === undefined
          ? undefined
          : { targetId, referrerId: id, entityName, fieldKey: restricting };
      }
      const { state: after } = await this.deps.links.on(tenantId, id, cause, (present) =>
        markForDeletion(present, targetId, attempt),
      );
      if (isPartOf(after, attempt)) return 'marked';
      if (after.status !== 'deleting') continue;
      // The attempt with the smaller root id waits for the other, so that two attempts never wait for each other.
      const other = after.deletion.cascadeOf ?? after.id;
      if (attempt.rootId > other || monotonic() > deadline) throw new Contended();
      await pause(POLL_MS);
    }
  }

  /** Returns the first blocker whose reference is still in the referrer's stream. */
  async firstThatBlocks(tenantId: string, blockers: readonly Blocker[]): Promise<Blocker | undefined> {
    for (const blocker of blockers) {
      const state = await this.deps.links.fresh(tenantId, blocker.referrerId);
      if (keysPointingTo(state, blocker.targetId).length > 0) return blocker;
    }
    return undefined;
  }
}

/** Number of items that {@link each} runs at the same time. */
const WIDTH = 16;

/** Calls `run` for all items, in batches of 16. When an item fails, rejects after all items of the batch have ended. */
export const each = async <T>(items: AsyncIterable<T>, run: (item: T) => Promise<void>): Promise<void> => {
  const batch: T[] = [];
  const flush = () => runInGroups(batch.splice(0).map((item) => () => run(item)));
  for await (const item of items) {
    batch.push(item);
    if (batch.length >= WIDTH) await flush();
  }
  await flush();
};
