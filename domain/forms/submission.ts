import { z } from 'zod';
import { defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';
import { valuesSchema } from '../entities/fields.ts';

/**
 * A submission of a form: one per form and `submission_id`. The stream is `submission-<id>`, the id made from both, as
 * is that of the record that it created. The record comes first; whoever finds a record of a form without this event
 * (the request, its repetition, or a subscriber) adds it from the record's own first event.
 */

export const FormSubmitted = defineEvent(
  'FormSubmitted',
  z.object({
    form_id: z.string(),
    /** As the client or the page named it. */
    submission_id: z.string(),
    entity_name: z.string(),
    entity_id: z.string(),
    /** The record's first values, defaults included. */
    values: valuesSchema,
  }),
);

export const submissionEvents = [FormSubmitted] as const;
export type SubmissionEvent = EventOf<typeof FormSubmitted>;

export interface Submission {
  readonly submitted: boolean;
}

export const submissionStream: StreamType<Submission, SubmissionEvent> = {
  category: 'submission',
  stateVersion: 1,
  initial: { submitted: false },
  evolve: () => ({ submitted: true }),
};

/** The first one counts. */
export const submitForm = (
  { submitted }: Submission,
  data: SubmissionEvent['data'],
): readonly SubmissionEvent[] => (submitted ? [] : [{ type: 'FormSubmitted', data }]);

export const SUBMISSION_ID = /^[A-Za-z0-9_-]{1,64}$/;
export const isSubmissionId = (text: string): boolean => SUBMISSION_ID.test(text);
export const SUBMISSION_ID_RULE = 'A submission_id has 1 to 64 letters, digits, - and _.';
