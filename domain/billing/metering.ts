import type { z } from 'zod';
import { AssistantQuestionAsked } from '../assistant/question.ts';
import { JobOverridden, JobStarted, JobTransitioned, RecordCreated } from '../entities/record.ts';
import { FormSubmitted } from '../forms/submission.ts';
import { MessageSent } from '../messaging/conversation.ts';
import { DeliverySucceeded } from '../webhooks/delivery.ts';
import { TEST_EVENT } from '../webhooks/event-types.ts';
import type { Meter } from './shapes.ts';

/** Maps events to meters (decisions, section 10, Meters). An event counts once for each of its meters. */

/** Meters that count events; `active_users` counts the people who caused events. */
export type CountMeter = Exclude<Meter, 'active_users'>;

type MetersOf = (data: unknown) => readonly CountMeter[];

const CREATED: readonly CountMeter[] = ['records_created'];
const CREATED_WITH_JOB: readonly CountMeter[] = ['records_created', 'jobs_started'];
const DELIVERED: readonly CountMeter[] = ['webhooks_delivered'];
const NONE: readonly CountMeter[] = [];

// The codec has checked the data against the event type's schema.
const created: MetersOf = (data) =>
  (data as z.output<typeof RecordCreated.schema>).job === undefined ? CREATED : CREATED_WITH_JOB;
const delivered: MetersOf = (data) =>
  (data as z.output<typeof DeliverySucceeded.schema>).event === TEST_EVENT ? NONE : DELIVERED;

interface Counted {
  /** The meters that events of this type can count for. */
  readonly meters: readonly CountMeter[];
  readonly of: MetersOf;
}

const each = (...meters: readonly CountMeter[]): Counted => ({ meters, of: () => meters });

/** Maps event types to meters. A record of an entity with a workflow is created with its job. */
const COUNTED: ReadonlyMap<string, Counted> = new Map<string, Counted>([
  [RecordCreated.type, { meters: CREATED_WITH_JOB, of: created }],
  [JobStarted.type, each('jobs_started')],
  [JobTransitioned.type, each('job_transitions')],
  [JobOverridden.type, each('job_transitions')],
  [FormSubmitted.type, each('forms_submitted')],
  [MessageSent.type, each('messages_sent')],
  [DeliverySucceeded.type, { meters: DELIVERED, of: delivered }],
  [AssistantQuestionAsked.type, each('assistant_questions')],
]);

/** Types of the events that a meter counts. */
export const typesOf = (meter: CountMeter): readonly string[] =>
  [...COUNTED].filter(([, { meters }]) => meters.includes(meter)).map(([type]) => type);

/** The meters that an event counts for, without duplicates. */
export const metersOf = (event: { readonly type: string; readonly data: unknown }): readonly CountMeter[] =>
  COUNTED.get(event.type)?.of(event.data) ?? NONE;

/** The person whom an event makes an active user; undefined for impersonated actors and for programs. */
export const activeUserOf = (event: {
  readonly actor: { readonly kind: string; readonly id: string };
  readonly impersonatedBy?: string | undefined;
}): string | undefined =>
  event.actor.kind === 'user' && event.impersonatedBy === undefined ? event.actor.id : undefined;
