import { RecordCreated } from '../../domain/entities/record.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { FormSubmissions } from './form-submissions.ts';

/**
 * Completes submissions whose process died between the record and the submission's own event. Of every other record of
 * a form it finds the event there: handled twice, or beside the request, it submits once.
 */
export const formSubmitter = (deps: { readonly submissions: FormSubmissions }): Subscriber => ({
  name: 'form-submitter',
  types: [RecordCreated.type],
  handle: (event) => deps.submissions.complete(event.tenantId, event),
});
