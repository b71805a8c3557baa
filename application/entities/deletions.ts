import {
  type Attempt,
  abandonDeletion,
  clearReferences,
  decideDelete,
  finishDeletion,
  isPartOf,
} from '../domain/entities/deletion.ts';
import { type RecordState, recordDecider } from '../domain/entities/record.ts';
import type { RecordEvent } from '../domain/entities/record-events.ts';
import { DomainError } from '../domain/errors.ts';
import type { Cause } from './codec.ts';
import type { CommandHandler } from './command-handler.ts';
import {
  type Besides,
  Contended,
  DeletionMarks,
  type Hindrance,
  type RecordFinder,
} from './deletion-marks.ts';
import { each, latest, pause } from './deletion-steps.ts';
import { type DeletionSurvey, surveyDeletion } from './deletion-survey.ts';
import type { Position } from './ports/event-store.ts';
import type { RecordLinks } from './record-links.ts';
import type { RequestContext } from './request-context.ts';
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
  readonly #commands: CommandHandler;
  readonly #links: RecordLinks;
  readonly #marks: DeletionMarks;
  readonly #schemas: Schemas;
  readonly #finder: RecordFinder;
  readonly #answered: (tenantId: string, position: Position) => void;
  readonly #looked: number;
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(deps: {
    commands: CommandHandler;
    links: RecordLinks;
    schemas: Schemas;
    finder: RecordFinder;
    /** Told where the log stands that a caller must find, whatever the answer. */
    answered: (tenantId: string, position: Position) => void;
    /** So many records are looked at before a deletion begins; 200 unless given. */
    looked?: number;
  }) {
    this.#commands = deps.commands;
    this.#links = deps.links;
    this.#marks = new DeletionMarks(deps);
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
          decideDelete(state, entityName, { deletionId: attempt.deletionId, ifVersion }),
        );
        return this.#run(tenantId, attempt, cause, besides);
      });
      if (result.outcome === 'deleted') {
        return untilSwept === true
          ? this.sweep(tenantId, attempt.rootId, attempt, cause, result.position)
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

  /** Goes on with an attempt that somebody began; waits for the one who does so in this process. */
  async resume(tenantId: string, attempt: Attempt, cause: Cause): Promise<void> {
    await this.#running.get(attempt.deletionId)?.catch(() => undefined);
    const state = await this.#links.fresh(tenantId, attempt.rootId);
    if (state.status !== 'deleting' || state.deletion.id !== attempt.deletionId) return;
    await this.#tracked(attempt, () => this.#run(tenantId, attempt, cause, nothing));
  }

  /** A record that was marked along: follows what became of the record that was asked for. */
  async follow(tenantId: string, id: string, attempt: Attempt, cause: Cause): Promise<void> {
    const root = await this.#links.fresh(tenantId, attempt.rootId);
    if (!isPartOf(root, attempt)) {
      await this.#on(tenantId, id, cause, (state) => abandonDeletion(state, attempt.deletionId));
    } else if (root.status === 'deleted') {
      await this.#on(tenantId, id, cause, (state) => finishDeletion(state, attempt.deletionId));
    }
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
   * After a record is deleted: what was marked and points to it goes too, and so on; whatever else points to it is
   * cleared.
   * @returns where the last of it stands in the log
   */
  async sweep(
    tenantId: string,
    deletedId: string,
    attempt: Attempt,
    cause: Cause,
    position: Position | undefined,
  ): Promise<Position | undefined> {
    let level = await this.#referenced(tenantId, [deletedId]);
    let last = position;
    while (level.length > 0) {
      await this.#finder.readTo(tenantId, last);
      const next: string[] = [];
      for (const targetId of level) {
        await each(this.#finder.referrers(tenantId, targetId), async ({ id }) => {
          const outcome = await this.#on(tenantId, id, cause, (state) =>
            state.status === 'deleting' && isPartOf(state, attempt)
              ? finishDeletion(state, attempt.deletionId)
              : clearReferences(state, targetId),
          );
          if (outcome.events.some(({ type }) => type === 'RecordDeleted')) next.push(id);
          last = latest(last, outcome.position);
        });
      }
      level = await this.#referenced(tenantId, next);
    }
    return last;
  }

  /** Those that anything ever pointed to; the read model need not be asked about others. */
  async #referenced(tenantId: string, ids: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for (const id of ids) {
      const state = await this.#links.fresh(tenantId, id);
      if (state.status !== 'none' && state.referenced) found.push(id);
    }
    return found;
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
    decideDelete(state, entityName, { deletionId: '', ifVersion });
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
    const sweeping = this.sweep(tenantId, attempt.rootId, attempt, cause, position).catch(() => position);
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<Position | undefined>((resolve) => {
      timer = setTimeout(() => resolve(position), PATIENCE_MS);
    });
    return Promise.race([sweeping, patience]).finally(() => clearTimeout(timer));
  }

  /** Marks, then decides. */
  async #run(tenantId: string, attempt: Attempt, cause: Cause, besides: Besides): Promise<Result> {
    const { deletionId, rootId } = attempt;
    try {
      const hindrance = await this.#marks.mark(tenantId, attempt, cause, besides);
      if (hindrance === undefined) {
        const { state, position } = await this.#on(tenantId, rootId, cause, (present) =>
          finishDeletion(present, deletionId),
        );
        if (state.status === 'deleted' && isPartOf(state, attempt)) return { outcome: 'deleted', position };
        await this.#giveUp(tenantId, attempt, cause);
        return { outcome: 'contended' };
      }
      await this.#giveUp(tenantId, attempt, cause);
      return { outcome: 'in_use', hindrance };
    } catch (error) {
      if (!(error instanceof Contended)) throw error;
      await this.#giveUp(tenantId, attempt, cause);
      return { outcome: 'contended' };
    }
  }

  async #giveUp(tenantId: string, attempt: Attempt, cause: Cause): Promise<void> {
    const { position } = await this.#on(tenantId, attempt.rootId, cause, (state) =>
      abandonDeletion(state, attempt.deletionId),
    );
    if (position === undefined) return;
    const last = await this.takeBack(tenantId, attempt, cause, position);
    // A refusal carries no position, and yet its caller must find everything as it was.
    if (last !== undefined) this.#answered(tenantId, last);
  }

  async #tracked<T>({ deletionId }: Attempt, run: () => Promise<T>): Promise<T> {
    const running = run();
    this.#running.set(deletionId, running);
    return running.finally(() => this.#running.delete(deletionId));
  }

  #on(tenantId: string, id: string, cause: Cause, decide: (state: RecordState) => readonly RecordEvent[]) {
    return this.#commands.execute({ tenantId, decider: recordDecider, id, cause, decide });
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
