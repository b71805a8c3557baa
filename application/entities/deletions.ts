import { DomainError } from '../../domain/core/errors.ts';
import {
  type Attempt,
  abandonDeletion,
  clearReferences,
  finishDeletion,
  isPartOf,
  startDeletion,
} from '../../domain/entities/deletion.ts';
import { type RecordEvent, type RecordState, recordStream } from '../../domain/entities/record.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { pause } from '../core/concurrency/pause.ts';
import type { Cause } from '../core/events/event-codec.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import {
  type Besides,
  Contended,
  DeletionMarks,
  type Hindrance,
  type RecordFinder,
} from './deletion-marks.ts';
import { each, latest } from './deletion-steps.ts';
import { type DeletionSurvey, surveyDeletion } from './deletion-survey.ts';
import type { RecordLinks } from './record-links.ts';
import type { Schemas } from './schemas.ts';

export interface DeleteRecord {
  /** Of `If-Match`. */
  readonly ifVersion?: number | undefined;
  /** What does not stand against it, because the same operation deletes it as well; it is cleared until then. */
  readonly besides?: Besides | undefined;
  readonly untilSwept?: boolean | undefined;
}

const nothing: Besides = () => false;

export type Result =
  | { readonly outcome: 'deleted'; readonly position: Position | undefined }
  | { readonly outcome: 'in_use'; readonly hindrance: Hindrance }
  /** Another deletion holds what this one needs, or this one was given up. */
  | { readonly outcome: 'contended' };

/** An answer waits so long (ms) for what goes or changes with the record. */
const PATIENCE_MS = 2000;
const WAIT_MS = 3000;
const POLL_MS = 15;
const TRIES = 8;
const LOOKED = 200;

/**
 * Deletes a record with all that goes with it, in two steps (docs/decisions/0011-references-are-registered-first.md):
 * everything that would go is marked, so that nothing can point to it anew; then either something that must stay
 * points to a marked record and all marks are taken back, or the record is deleted, and what is marked follows.
 * Each step can be done again by whoever takes over.
 */
export class Deletions {
  readonly #streams: Streams;
  readonly #links: RecordLinks;
  readonly #marks: DeletionMarks;
  readonly #schemas: Schemas;
  readonly #finder: RecordFinder;
  readonly #answered: (tenantId: string, position: Position) => void;
  readonly #looked: number;
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(deps: {
    streams: Streams;
    links: RecordLinks;
    schemas: Schemas;
    finder: RecordFinder;
    /** Told where the log stands that a caller must find, whatever the answer. */
    answered: (tenantId: string, position: Position) => void;
    /** So many records are looked at before a deletion begins; 200 unless given. */
    looked?: number;
    clock: Clock;
    /** Somebody else who works on a deletion is waited for so long (ms); 3 s unless given. */
    waitMs?: number;
  }) {
    this.#streams = deps.streams;
    this.#links = deps.links;
    this.#clock = deps.clock;
    this.#waitMs = deps.waitMs ?? WAIT_MS;
    this.#marks = new DeletionMarks({ ...deps, waitMs: this.#waitMs });
    this.#schemas = deps.schemas;
    this.#finder = deps.finder;
    this.#answered = deps.answered;
    this.#looked = deps.looked ?? LOOKED;
  }

  /**
   * @param command.untilSwept waits for all that goes or changes with the record, however long that takes
   * @throws `not_found`, `conflict`, `in_use`
   */
  async delete(
    tenantId: string,
    entityName: string,
    id: string,
    { ifVersion, besides = nothing, untilSwept }: DeleteRecord,
    { cause, newId }: RequestContext,
  ): Promise<Position | undefined> {
    await this.#refuseEarly(tenantId, entityName, id, ifVersion, besides);
    for (let tries = 0; tries < TRIES; tries += 1) {
      const attempt = { deletionId: newId(), rootId: id };
      const result = await this.#tracked(attempt, async () => {
        await this.#on(tenantId, id, cause, (state) =>
          startDeletion(state, entityName, { deletionId: attempt.deletionId, ifVersion }),
        );
        return this.#run(tenantId, attempt, cause, besides);
      });
      if (result.outcome === 'deleted') {
        return untilSwept === true
          ? this.sweep(tenantId, attempt, cause, result.position)
          : this.#followed(tenantId, attempt, cause, result.position);
      }
      if (result.outcome === 'in_use') throw inUse(result.hindrance);
      await pause(POLL_MS * 2 ** tries * (0.5 + Math.random()));
    }
    throw new DomainError('conflict', 'Another deletion holds records that would go too. Try again.');
  }

  /** @see {@link surveyDeletion} */
  survey(tenantId: string, id: string): Promise<DeletionSurvey> {
    return surveyDeletion({ finder: this.#finder, schemas: this.#schemas }, tenantId, id);
  }

  /** Takes over an attempt that whoever began it has not decided in time. */
  async resume(tenantId: string, attempt: Attempt, cause: Cause): Promise<void> {
    await this.#running.get(attempt.deletionId)?.catch(() => undefined);
    if (!(await this.#isLeftUndecided(tenantId, attempt))) return;
    await this.#tracked(attempt, () => this.#run(tenantId, attempt, cause, nothing));
  }

  /** Leads the attempt that marked a record to its end; the record is then deleted, or its mark taken back. */
  async follow(tenantId: string, id: string, attempt: Attempt, cause: Cause): Promise<void> {
    await this.resume(tenantId, attempt, cause);
    const { state: root, position } = await this.#on(tenantId, attempt.rootId, cause, () => []);
    if (!isPartOf(root, attempt)) {
      await this.#on(tenantId, id, cause, (state) => abandonDeletion(state, attempt.deletionId));
    } else if (root.status === 'deleted') await this.finish(tenantId, id, attempt, cause, position);
  }

  /** Takes back the marks of an attempt that was given up. */
  async takeBack(
    tenantId: string,
    { deletionId }: Attempt,
    cause: Cause,
    position: Position,
  ): Promise<Position | undefined> {
    let last: Position | undefined = position;
    await this.#finder.readTo(tenantId, position);
    await each(this.#finder.beingDeleted(tenantId, deletionId), async ({ id }) => {
      const outcome = await this.#on(tenantId, id, cause, (state) => abandonDeletion(state, deletionId));
      last = latest(last, outcome.position);
    });
    return last;
  }

  /**
   * Ends a deletion that was decided: deletes what was marked and clears what else points to any of it. Afterwards all
   * of it is done, also where others do the same at the same time.
   * @param position where the log decided it, or later
   * @returns where the last of it stands in the log
   */
  async sweep(
    tenantId: string,
    attempt: Attempt,
    cause: Cause,
    position: Position | undefined,
  ): Promise<Position | undefined> {
    const { deletionId, rootId } = attempt;
    const root = await this.#links.fresh(tenantId, rootId);
    // The read model need not be asked about a record that nothing ever pointed to.
    if (root.status !== 'deleted' || !root.referenced) return position;
    let last = await this.finish(tenantId, rootId, attempt, cause, position);
    await each(this.#finder.beingDeleted(tenantId, deletionId), async ({ id }) => {
      last = latest(last, await this.finish(tenantId, id, attempt, cause, position));
    });
    return last;
  }

  /**
   * Clears what points to one record of a deletion that was decided, then deletes the record. In this order a record
   * that is found deleted needs nothing more: {@link sweep} does not have to wait for another one.
   */
  async finish(
    tenantId: string,
    id: string,
    attempt: Attempt,
    cause: Cause,
    position: Position | undefined,
  ): Promise<Position | undefined> {
    let last = position;
    const state = await this.#links.fresh(tenantId, id);
    if (state.status !== 'none' && state.referenced) {
      await this.#finder.readTo(tenantId, position);
      await each(this.#finder.referrers(tenantId, id), async (referrer) => {
        const cleared = await this.#on(tenantId, referrer.id, cause, (present) =>
          isPartOf(present, attempt) ? [] : clearReferences(present, id),
        );
        last = latest(last, cleared.position);
      });
    }
    const finished = await this.#on(tenantId, id, cause, (present) =>
      finishDeletion(present, attempt.deletionId),
    );
    return latest(last, finished.position);
  }

  /** What can be seen to stand against a small deletion is refused before anything is marked, and so hidden. */
  async #refuseEarly(
    tenantId: string,
    entityName: string,
    id: string,
    ifVersion: number | undefined,
    besides: Besides,
  ): Promise<void> {
    const state = await this.#links.fresh(tenantId, id);
    startDeletion(state, entityName, { deletionId: '', ifVersion });
    if (state.status !== 'live' || !state.referenced) return;
    const survey = await surveyDeletion(
      { finder: this.#finder, schemas: this.#schemas },
      tenantId,
      id,
      this.#looked,
    );
    if (!survey.isWhole) return;
    const against = survey.hindrances.filter(({ referrerId }) => !besides(referrerId));
    const hindrance = await this.#marks.firstThatHolds(tenantId, against);
    if (hindrance !== undefined) throw inUse(hindrance);
  }

  /** The answer waits a little, so that its caller finds everything done where that is soon. */
  async #followed(
    tenantId: string,
    attempt: Attempt,
    cause: Cause,
    position: Position | undefined,
  ): Promise<Position | undefined> {
    // What fails here is done by the subscriber.
    const sweeping = this.sweep(tenantId, attempt, cause, position).catch(() => position);
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<Position | undefined>((resolve) => {
      timer = setTimeout(() => resolve(position), PATIENCE_MS);
    });
    return Promise.race([sweeping, patience]).finally(() => clearTimeout(timer));
  }

  /** Two processes that mark at once for one attempt would only be in each other's way. */
  async #isLeftUndecided(tenantId: string, { deletionId, rootId }: Attempt): Promise<boolean> {
    const since = performance.now();
    for (;;) {
      const state = await this.#links.fresh(tenantId, rootId);
      if (state.status !== 'deleting' || state.deletion.id !== deletionId) return false;
      const age = Math.max(this.#clock.now() - state.deletion.startedAt, performance.now() - since);
      if (age >= this.#waitMs) return true;
      await pause(POLL_MS);
    }
  }

  /** Marks, then decides. */
  async #run(tenantId: string, attempt: Attempt, cause: Cause, besides: Besides): Promise<Result> {
    const { deletionId, rootId } = attempt;
    const refusal = await this.#mark(tenantId, attempt, cause, besides);
    const decide = refusal === undefined ? finishDeletion : abandonDeletion;
    const { state, position } = await this.#on(tenantId, rootId, cause, (present) =>
      decide(present, deletionId),
    );
    // Another process that works on the same attempt may have decided otherwise.
    if (state.status === 'deleted' && isPartOf(state, attempt)) return { outcome: 'deleted', position };
    if (position !== undefined) {
      const last = await this.takeBack(tenantId, attempt, cause, position);
      // A refusal carries no position, and yet its caller must find everything as it was.
      if (last !== undefined) this.#answered(tenantId, last);
    }
    return refusal ?? { outcome: 'contended' };
  }

  async #mark(
    tenantId: string,
    attempt: Attempt,
    cause: Cause,
    besides: Besides,
  ): Promise<Exclude<Result, { outcome: 'deleted' }> | undefined> {
    try {
      const hindrance = await this.#marks.mark(tenantId, attempt, cause, besides);
      return hindrance === undefined ? undefined : { outcome: 'in_use', hindrance };
    } catch (error) {
      if (error instanceof Contended) return { outcome: 'contended' };
      throw error;
    }
  }

  async #tracked<T>({ deletionId }: Attempt, run: () => Promise<T>): Promise<T> {
    const running = run();
    this.#running.set(deletionId, running);
    return running.finally(() => this.#running.delete(deletionId));
  }

  #on(tenantId: string, id: string, cause: Cause, decide: (state: RecordState) => readonly RecordEvent[]) {
    return this.#streams.of(recordStream, tenantId, id).execute({ cause }, decide);
  }
}

const inUse = ({ referrerId, entityName, fieldKey }: Hindrance): DomainError =>
  new DomainError(
    'in_use',
    `The record is in use: ${entityName} ${referrerId} points to it by ${fieldKey}.`,
    {
      entity_name: entityName,
      record_id: referrerId,
      field: fieldKey,
    },
  );
