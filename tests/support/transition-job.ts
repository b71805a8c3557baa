import type { RecordEvent, RecordState } from '../../domain/entities/record.ts';
import {
  checkTransition,
  refusalError,
  type Surroundings,
  type TransitionCommand,
  transitioned,
  withJob,
} from '../../domain/workflow/job.ts';

/** Checks and makes a transition as the use case does. @throws `not_found`, and the errors of `refusalError` */
export const transitionJob = (
  state: RecordState,
  command: TransitionCommand,
  surroundings: Surroundings,
): readonly RecordEvent[] => {
  const record = withJob(state);
  const verdict = checkTransition(record, command, surroundings);
  if (verdict.kind !== 'moves') throw refusalError(verdict);
  return transitioned(record, command, verdict.edge, surroundings.actor.role);
};
