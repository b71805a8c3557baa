import { DomainError } from '../../../domain/core/errors.ts';
import type { Cause, LoggedEvent } from '../events/event-codec.ts';

/** What is done because of an event, and on behalf of whoever caused it. */
export const causeOf = (event: LoggedEvent): Cause => ({
  actor: event.actor,
  impersonatedBy: event.impersonatedBy,
  correlationId: event.correlationId,
  causationId: event.id,
});

/** An event is not passed over because a read model is behind: that comes round, and the subscriber starts again. */
export const withReadModel = async (work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'read_model_behind')) throw error;
    throw new DomainError('unavailable', 'A read model has not come so far yet.');
  }
};
