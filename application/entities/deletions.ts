import { DomainError } from '../../domain/core/errors.ts';
import {
  abandonDeletion,
  clearReferences,
  finishDeletion,
  isPartOf,
  startDeletion,
} from '../../domain/entities/deletion.ts';
import type { RecordEvent, RecordState } from '../../domain/entities/record.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import { randomNumber } from '../core/runtime/random.ts';
import { monotonic, pause } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import { latest, type Position } from '../ports/event-store.ts';
import {
  type Blocker,
  type CausedAttempt,
  Contended,
  DeletionMarks,
  each,
  type RecordFinder,
} from './deletion-marks.ts';
import { surveyDeletion } from './deletion-survey.ts';
import type { RecordLinks } from './record-links.ts';
import type { Schemas } from './schemas.ts';

interface DeleteRecord {
  /** From `If-Match`. */
  readonly ifVersion?: number | undefined;
  readonly untilSwept?: boolean | undefined;
}

type Result =
  | { readonly outcome: 'deleted'; readonly position: Position | undefined }
  | { readonly outcome: 'in_use'; readonly blocker: Blocker }
  /** Another deletion has marked a needed record, or another process has abandoned this deletion. */
  | { readonly outcome: 'contended' };

/** How long (ms) an answer waits for the cascade. */
const ANSWER_MS = 2000;
const WAIT_MS = 3000;
const POLL_MS = 15;
const TRIES = 8;
const SURVEYED = 200;

/**
 * Deletes a record with its cascade in two steps (docs/decisions/0011-references-are-registered-first.md). First it
 * marks all records to delete, so that no new reference to them can be written. Then it removes all marks if a record
 * that must stay refers to a marked record; otherwise it deletes the record, and the other marked records follow. Any
 * process can repeat each step.
 */
export class Deletions extends WithDeps<{
  readonly links: RecordLinks;
  readonly schemas: Schemas;
  readonly finder: RecordFinder;
  /** Called with a position that the caller's next reads must include, even when the answer is an error. */
  readonly answered: (tenantId: string, position: Position) => void;
  /** Maximum number of referrers surveyed before a deletion starts; default 200. */
  readonly surveyed?: number;
  readonly clock: Clock;
  /** How long (ms) to wait for another process that works on a deletion; default 3 s. */
  readonly waitMs?: number;
}> {
  readonly #waitMs = this.deps.waitMs ?? WAIT_MS;
  readonly #marks = new DeletionMarks({ ...this.deps, waitMs: this.#waitMs });
  readonly #running = new Map<string, Promise<unknown>>();

  /**
   * Resolves when the record is deleted; its cascade may follow a little later.
   * @param command.untilSwept waits for the whole cascade, without a limit
   * @throws `not_found`, `conflict`, `in_use` when a record that must stay refers to a record to delete,
   * `read_model_behind`
   */
  async delete(
    tenantId: string,
    entityName: string,
    id: string,
    { ifVersion, untilSwept }: DeleteRecord,
    { cause, newId }: RequestContext,
  ): Promise<Position | undefined> {
    await this.#refuseEarly(tenantId, entityName, id, ifVersion);
    for (let tries = 0; tries < TRIES; tries += 1) {
      const attempt = { tenantId, cause, deletionId: newId(), rootId: id };
      const result = await this.#tracked(attempt, async () => {
        const command = { deletionId: attempt.deletionId, ifVersion };
        await this.#on(attempt, id, (state) => startDeletion(state, entityName, command));
        return this.#run(attempt);
      });
      if (result.outcome === 'deleted') {
        const { position } = result;
        return untilSwept === true ? this.sweep(attempt, position) : this.#waitForCascade(attempt, position);
      }
      if (result.outcome === 'in_use') throw inUse(result.blocker);
      await pause(POLL_MS * 2 ** tries * (0.5 + randomNumber()));
    }
    throw new DomainError('conflict', 'Another deletion is deleting some of these records. Try again.');
  }

  /** Takes over an attempt that was not decided in time. */
  async resume(attempt: CausedAttempt): Promise<void> {
    await this.#running.get(attempt.deletionId)?.catch(() => undefined);
    if (!(await this.#isLeftUndecided(attempt))) return;
    await this.#tracked(attempt, () => this.#run(attempt));
  }

  /** Completes the attempt that marked a record; the record is then deleted, or the mark is removed. */
  async follow(attempt: CausedAttempt, id: string): Promise<void> {
    await this.resume(attempt);
    const { state: root, position } = await this.deps.links.read(attempt.tenantId, attempt.rootId);
    if (!isPartOf(root, attempt)) {
      await this.#on(attempt, id, (state) => abandonDeletion(state, attempt.deletionId));
    } else if (root.status === 'deleted') await this.finish(attempt, id, position);
  }

  /** Removes the marks of an abandoned attempt. */
  async takeBack(attempt: CausedAttempt, position: Position): Promise<Position | undefined> {
    const { tenantId, deletionId } = attempt;
    let last: Position | undefined = position;
    await this.deps.finder.readTo(tenantId, position);
    await each(this.deps.finder.beingDeleted(tenantId, deletionId), async ({ id }) => {
      const outcome = await this.#on(attempt, id, (state) => abandonDeletion(state, deletionId));
      last = latest(last, outcome.position);
    });
    return last;
  }

  /**
   * Completes a decided deletion: deletes marked records and clears references to all deleted records. Safe to run
   * concurrently.
   * @param position the decision's position, or a later one
   * @returns the position of the last write
   */
  async sweep(attempt: CausedAttempt, position: Position | undefined): Promise<Position | undefined> {
    const { tenantId, deletionId, rootId } = attempt;
    const root = await this.deps.links.fresh(tenantId, rootId);
    // A record without referrers needs no query of the read model.
    if (root.status !== 'deleted' || !root.referenced) return position;
    let last = await this.finish(attempt, rootId, position);
    await each(this.deps.finder.beingDeleted(tenantId, deletionId), async ({ id }) => {
      const finished = await this.finish(attempt, id, position);
      last = latest(last, finished);
    });
    return last;
  }

  /**
   * Clears references to one record of a decided deletion, then deletes the record. In this order a cascaded record
   * that is deleted needs no further work, so {@link sweep} may skip records that another process has deleted.
   */
  async finish(
    attempt: CausedAttempt,
    id: string,
    position: Position | undefined,
  ): Promise<Position | undefined> {
    const { tenantId } = attempt;
    let last = position;
    const state = await this.deps.links.fresh(tenantId, id);
    if (state.status !== 'none' && state.referenced) {
      await this.deps.finder.readTo(tenantId, position);
      await each(this.deps.finder.referrers(tenantId, id), async (referrer) => {
        const cleared = await this.#on(attempt, referrer.id, (present) =>
          isPartOf(present, attempt) ? [] : clearReferences(present, id),
        );
        last = latest(last, cleared.position);
      });
    }
    const finished = await this.#on(attempt, id, (present) => finishDeletion(present, attempt.deletionId));
    return latest(last, finished.position);
  }

  /**
   * Refuses a blocked deletion before any record is marked and thereby hidden. A deletion with more referrers than the
   * survey's limit is checked only while it marks.
   */
  async #refuseEarly(
    tenantId: string,
    entityName: string,
    id: string,
    ifVersion: number | undefined,
  ): Promise<void> {
    const state = await this.deps.links.fresh(tenantId, id);
    startDeletion(state, entityName, { deletionId: '', ifVersion });
    if (state.status !== 'live' || !state.referenced) return;
    const blockers = await surveyDeletion(this.deps, tenantId, id, this.deps.surveyed ?? SURVEYED);
    const blocker = await this.#marks.firstThatBlocks(tenantId, blockers);
    if (blocker !== undefined) throw inUse(blocker);
  }

  /** Waits a short time for the cascade, so that the caller usually finds it complete. */
  async #waitForCascade(
    attempt: CausedAttempt,
    position: Position | undefined,
  ): Promise<Position | undefined> {
    // `recordDeleter` completes a failed sweep.
    const sweeping = this.sweep(attempt, position).catch(() => position);
    const ended = new AbortController();
    const timeout = pause(ANSWER_MS, ended.signal).then(() => position);
    return Promise.race([sweeping, timeout]).finally(() => ended.abort());
  }

  /**
   * Whether an attempt is still undecided `waitMs` after its start. Another process gets this time to decide, since
   * two processes that mark for one attempt would conflict.
   */
  async #isLeftUndecided({ tenantId, deletionId, rootId }: CausedAttempt): Promise<boolean> {
    const since = monotonic();
    for (;;) {
      const state = await this.deps.links.fresh(tenantId, rootId);
      if (state.status !== 'deleting' || state.deletion.id !== deletionId) return false;
      const age = Math.max(this.deps.clock.now() - state.deletion.startedAt, monotonic() - since);
      if (age >= this.#waitMs) return true;
      await pause(POLL_MS);
    }
  }

  /** Marks, then decides. */
  async #run(attempt: CausedAttempt): Promise<Result> {
    const { tenantId, deletionId, rootId } = attempt;
    const refusal = await this.#mark(attempt);
    const decide = refusal === undefined ? finishDeletion : abandonDeletion;
    const { state, position } = await this.#on(attempt, rootId, (present) => decide(present, deletionId));
    // Another process on the same attempt may have decided otherwise.
    if (state.status === 'deleted' && isPartOf(state, attempt)) return { outcome: 'deleted', position };
    if (position !== undefined) {
      const last = await this.takeBack(attempt, position);
      // An error carries no position, but its caller must find the marks removed.
      if (last !== undefined) this.deps.answered(tenantId, last);
    }
    return refusal ?? { outcome: 'contended' };
  }

  async #mark(attempt: CausedAttempt): Promise<Exclude<Result, { outcome: 'deleted' }> | undefined> {
    try {
      const blocker = await this.#marks.mark(attempt);
      return blocker === undefined ? undefined : { outcome: 'in_use', blocker };
    } catch (error) {
      if (error instanceof Contended) return { outcome: 'contended' };
      throw error;
    }
  }

  #on(
    { tenantId, cause }: CausedAttempt,
    id: string,
    decide: (state: RecordState) => readonly RecordEvent[],
  ) {
    return this.deps.links.on(tenantId, id, cause, decide);
  }

  async #tracked<T>({ deletionId }: CausedAttempt, run: () => Promise<T>): Promise<T> {
    const running = run();
    this.#running.set(deletionId, running);
    return running.finally(() => this.#running.delete(deletionId));
  }
}

const inUse = ({ referrerId, entityName, fieldKey }: Blocker): DomainError =>
  new DomainError(
    'in_use',
    `The record is in use: ${entityName} ${referrerId} points to it by ${fieldKey}.`,
    {
      entity_name: entityName,
      record_id: referrerId,
      field: fieldKey,
    },
  );
