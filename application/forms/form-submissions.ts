import { DomainError, invalid } from '../../domain/core/errors.ts';
import { RecordCreated, type RecordState, recordStream } from '../../domain/entities/record.ts';
import { type Input, resolve } from '../../domain/entities/record-values.ts';
import { submissionIssues } from '../../domain/forms/fields.ts';
import {
  isSubmissionId,
  SUBMISSION_ID_RULE,
  submissionStream,
  submitForm,
} from '../../domain/forms/submission.ts';
import type { Written } from '../core/commands/command.ts';
import { type IdempotencyUse, uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { type AnyEvent, type Cause, dataOf, type EventCodec } from '../core/events/event-codec.ts';
import { eventsOf } from '../core/events/stream-events.ts';
import { streamName } from '../core/events/stream-name.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Records } from '../entities/records.ts';
import type { Ids } from '../ports/clock.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import type { OpenForm } from './forms.ts';

/** The actor of records created by a form; {@link formOfActor} reads it back. */
const actorOf = (formId: string): Cause['actor'] => ({ kind: 'public', id: `form:${formId}` });

const formOfActor = ({ kind, id }: Cause['actor']): string | undefined =>
  kind === 'public' && id.startsWith('form:') ? id.slice('form:'.length) : undefined;

/** Ids of a submission's streams, the same on every node. */
const idsOf = (tenantId: string, formId: string, submissionId: string) => {
  const name = `${tenantId}\n${formId}\n${submissionId}`;
  return { submission: uuidFromName(`submission\n${name}`), record: uuidFromName(`submitted\n${name}`) };
};

/** The name includes the secret nonce of the key's use, so that another caller cannot take the id first. */
const idOfKey = (formId: string, { key, nonce }: IdempotencyUse): string =>
  uuidFromName(`keyed submission\n${formId}\n${key}\n${nonce}`);

export interface GivenSubmission {
  readonly id: string | undefined;
  /** The request's idempotency key. Without an id, each try derives the same id from the key. */
  readonly key?: IdempotencyUse | undefined;
  readonly values: Input;
}

/** The event by which a form created a record, usually the first event of the record's stream. */
type Created = AnyEvent & Pick<Cause, 'actor' | 'correlationId' | 'causationId'>;

/**
 * Submissions of public forms (decisions, section 6, Form). The record is created first, with form and submission as
 * its cause; then {@link complete} derives the submission's own event from the record's event. Both events are appended
 * before the answer.
 */
export class FormSubmissions extends WithDeps<{
  readonly streams: Streams;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly records: Pick<Records, 'create'>;
  readonly ids: Ids;
}> {
  /**
   * A repeat with the same submission id has no effect, even with other values.
   * @throws `validation_failed`, `constraint_violated`, `payload_too_large`, `conflict`
   */
  async submit(
    open: OpenForm,
    submission: GivenSubmission,
    requestId: string,
  ): Promise<Written<{ submissionId: string }>> {
    const { tenantId, form, entity, fields } = open;
    const { id, key } = submission;
    const submissionId = id ?? (key === undefined ? this.deps.ids.next() : idOfKey(form.id, key));
    if (!isSubmissionId(submissionId)) {
      const issue = { path: 'submission_id', code: 'invalid_format', message: SUBMISSION_ID_RULE };
      throw invalid([issue, ...submissionIssues(fields, entity, submission.values, true)]);
    }
    const ids = idsOf(tenantId, form.id, submissionId);
    const cause = { actor: actorOf(form.id), correlationId: requestId, causationId: submissionId };
    // A record that was created and then deleted also counts as submitted.
    if ((await this.#record(tenantId, ids.record)).status === 'none') {
      const issues = submissionIssues(fields, entity, submission.values);
      if (issues.length > 0) throw invalid(issues);
      refuseLarge(resolve(entity, undefined, submission.values).values);
      const context = { cause, priorAttempt: undefined, newId: () => this.deps.ids.next() };
      try {
        await this.deps.records.create(tenantId, form.entityName, submission.values, context, ids.record);
      } catch (error) {
        // A concurrent request may have created the same submission.
        if (!(error instanceof DomainError) || error.code !== 'conflict') throw error;
        if ((await this.#record(tenantId, ids.record)).status === 'none') throw error;
      }
    }
    const created = await this.#created(tenantId, ids.record);
    if (created === undefined) throw new DomainError('internal_error', 'The submission created no record.');
    return { submissionId, position: await this.complete(tenantId, created, cause) };
  }

  /** Appends the submission's event for a record that a form created, unless the event exists. */
  async complete(
    tenantId: string,
    created: Created,
    { actor, correlationId, causationId }: Cause = created,
  ): Promise<Position | undefined> {
    const record = dataOf(RecordCreated, created);
    const formId = formOfActor(created.actor);
    if (record === undefined || formId === undefined) return undefined;
    const submissionId = created.causationId;
    const { position } = await this.deps.streams
      .of(submissionStream, tenantId, idsOf(tenantId, formId, submissionId).submission)
      .execute({ cause: { actor, correlationId, causationId } }, (state) =>
        submitForm(state, {
          form_id: formId,
          submission_id: submissionId,
          entity_name: record.entity_name,
          entity_id: record.record_id,
          values: record.values,
        }),
      );
    return position;
  }

  /** The record as stored now. */
  async #record(tenantId: string, id: string): Promise<RecordState> {
    return (await this.deps.streams.of(recordStream, tenantId, id).refresh()).state;
  }

  async #created(tenantId: string, id: string): Promise<Created | undefined> {
    const stream = streamName(tenantId, recordStream.category, id);
    for await (const event of eventsOf(this.deps, stream, 0, 8)) {
      if (event.type === RecordCreated.type) return event;
    }
    return undefined;
  }
}

/** Maximum UTF-8 bytes of a submission's values as JSON; record and submission then fit into one event each. */
const MAX_SUBMISSION_BYTES = 384 * 1024;

const refuseLarge = (values: unknown): void => {
  if (Buffer.byteLength(JSON.stringify(values)) <= MAX_SUBMISSION_BYTES) return;
  const message = `The values of a submission must have at most ${MAX_SUBMISSION_BYTES} bytes.`;
  throw new DomainError('payload_too_large', message, { limit: MAX_SUBMISSION_BYTES });
};

/** Completes submissions of processes that crashed between the record's and the submission's event. */
export const formSubmitter = ({ submissions }: { readonly submissions: FormSubmissions }): Subscriber => ({
  name: 'form-submitter',
  types: [RecordCreated.type],
  handle: async (event) => {
    await submissions.complete(event.tenantId, event);
  },
});
