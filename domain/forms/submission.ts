import { z } from 'zod';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';
import { valuesSchema } from '../entities/fields.ts';

/**
 * One submission per form and `submission_id`; the ids of its stream and of its record derive from both. The record
 * is created first. Then the request, its retry or a subscriber appends `FormSubmitted`, built from `RecordCreated`.
 */

export const FormSubmitted = defineEvent(
  'FormSubmitted',
  z.object({
    form_id: z.string(),
    /** Chosen by the client or the page; otherwise derived from the idempotency key, or a new id. */
    submission_id: z.string(),
    entity_name: z.string(),
    entity_id: z.string(),
    /** First values of the record, including defaults. */
    values: valuesSchema,
  }),
);

export const submissionEvents = [FormSubmitted] as const;
type SubmissionEvent = EventOf<typeof FormSubmitted>;

interface Submission {
  readonly submitted: boolean;
}

export const submissionStream: StreamType<Submission, SubmissionEvent> = {
  category: 'submission',
  stateVersion: 1,
  initial: { submitted: false },
  evolve: () => ({ submitted: true }),
};

/** A repeated command gives no events. */
export const submitForm = (
  { submitted }: Submission,
  data: SubmissionEvent['data'],
): readonly SubmissionEvent[] => (submitted ? [] : decided(FormSubmitted, data));

export const SUBMISSION_ID = /^[A-Za-z0-9_-]{1,64}$/;
export const isSubmissionId = (text: string): boolean => SUBMISSION_ID.test(text);
export const SUBMISSION_ID_RULE = 'A submission_id has 1 to 64 letters, digits, - and _.';
