import { RecordCreated } from '../../domain/entities/record.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { FormSubmissions } from './form-submissions.ts';

/**
 * Completes submissions of processes that crashed between the record's and the submission's event. Others already have
 * their event, so that this has no effect on them.
 */
export const formSubmitter = (deps: { readonly submissions: FormSubmissions }): Subscriber => ({
  name: 'form-submitter',
  types: [RecordCreated.type],
  handle: (event) => deps.submissions.complete(event.tenantId, event),
});
