import { DomainError } from '../../../domain/core/errors.ts';
import type { Cause, LoggedEvent } from '../events/event-codec.ts';

/** The cause of commands that follow from an event: the event's actor and correlation id, and its id as causation. */
export const causeOf = (event: LoggedEvent): Cause => ({
  actor: event.actor,
  impersonatedBy: event.impersonatedBy,
  correlationId: event.correlationId,
  causationId: event.id,
  traceparent: event.traceparent,
});

/** The cause of commands that the system, as actor `id`, runs because of an event. */
export const systemCauseOf = (event: LoggedEvent, id: string): Cause => ({
  ...causeOf(event),
  actor: { kind: 'system', id },
  impersonatedBy: undefined,
});

/** Turns `read_model_behind` into `unavailable`, so that the subscriber tries again and never skips the event. */
export const withReadModel = async (work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'read_model_behind')) throw error;
    throw new DomainError('unavailable', 'A read model lags behind.');
  }
};
