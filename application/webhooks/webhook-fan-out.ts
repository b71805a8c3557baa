import { inOrder, valuesSchema } from '../../domain/entities/fields.ts';
import { schemaStream } from '../../domain/entities/schema.ts';
import { deliveryStream, scheduleDelivery } from '../../domain/webhooks/delivery.ts';
import { wants } from '../../domain/webhooks/event-types.ts';
import {
  SUBSCRIPTIONS,
  type Subscription,
  subscriptionsStream,
  WebhookActivated,
  WebhookChanged,
  WebhookCreated,
  WebhookDeleted,
  WebhookPaused,
} from '../../domain/webhooks/subscription.ts';
import { uuidFromName } from '../core/commands/request-context.ts';
import type { StreamStates } from '../core/commands/stream-states.ts';
import type { Streams } from '../core/commands/streams.ts';
import { runInGroups } from '../core/concurrency/background-scheduler.ts';
import type { LoggedEvent } from '../core/events/event-codec.ts';
import { ownerOf, streamName } from '../core/events/stream-name.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import { PastStates } from '../core/subscriptions/past-states.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { StoredEvent } from '../ports/event-store.ts';
import {
  envelopeText,
  storedBody,
  WEBHOOK_SOURCES,
  type WebhookEventData,
  webhookDataOf,
} from './event-data.ts';

export const WEBHOOK_FAN_OUT = 'webhook-fan-out';

/** Events that change subscriptions. */
const CHANGES = [WebhookCreated, WebhookChanged, WebhookPaused, WebhookActivated, WebhookDeleted];

/**
 * Schedules one delivery for each event and each subscription that was active and selected such events when the event
 * was appended (specification, Webhook events, Sources). Ids derive from event and subscription, so that a repeat has
 * no effect.
 */
export const webhookFanOut = (deps: {
  readonly streams: Streams;
  readonly states: StreamStates;
}): Subscriber => {
  const history = new PastStates(
    subscriptionsStream,
    CHANGES.map(({ type }) => type),
    deps,
  );
  const schedule = async (logged: LoggedEvent, content: WebhookEventData, subscription: Subscription) => {
    const { tenantId, at: occurredAt } = logged;
    const { event, data } = content;
    const id = uuidFromName(`webhook\n${logged.id}\n${subscription.id}`);
    const body = envelopeText({ id, event, occurredAt, tenantId, data });
    const delivery = { id, subscriptionId: subscription.id, event, ...storedBody(body) };
    await deps.streams
      .of(deliveryStream, tenantId, id)
      .execute(
        { cause: causeOf(logged) },
        { decide: (state) => scheduleDelivery(state, delivery), isNew: true },
      );
  };
  /** Puts values into the order of the schema's fields for the body; the log stores them sorted by key. */
  const inSchemaOrder = async (tenantId: string, content: WebhookEventData): Promise<WebhookEventData> => {
    const { entity_name: name, values } = content.data;
    const known = valuesSchema.safeParse(values);
    if (typeof name !== 'string' || !known.success) return content;
    const { state } = await deps.streams.of(schemaStream, tenantId, name).load();
    if (!state.exists) return content;
    return { ...content, data: { ...content.data, values: inOrder(state.fields, known.data) } };
  };
  /** Functions that schedule the deliveries of an event, for the subscriptions as they were just before the event. */
  const deliveriesOf = async (event: LoggedEvent): Promise<readonly (() => Promise<void>)[]> => {
    // The event changes the subscriptions, and is not delivered.
    if (history.evolve(event)) return [];
    const content = webhookDataOf(event);
    if (content === undefined) return [];
    const stream = streamName(event.tenantId, subscriptionsStream.category, SUBSCRIPTIONS);
    const { byId } = await history.before(stream, event.position);
    const wanted = Object.values(byId).filter(
      ({ state, events }) => state === 'active' && wants(events, content.event),
    );
    if (wanted.length === 0) return [];
    const ordered = await inSchemaOrder(event.tenantId, content);
    return wanted.map((subscription) => () => schedule(event, ordered, subscription));
  };
  /** True for an event to deliver if the cached subscriptions of its tenant are all inactive. */
  const skips = ({ type, stream }: StoredEvent): boolean => {
    if (history.types.includes(type)) return false;
    const known = history.cached(streamName(ownerOf(stream), subscriptionsStream.category, SUBSCRIPTIONS));
    return known !== undefined && Object.values(known.byId).every(({ state }) => state !== 'active');
  };
  const handleAll: Subscriber['handleAll'] = async (events, quantum) => {
    const deliveries: (() => Promise<void>)[] = [];
    for (const event of events) for (const each of await deliveriesOf(event)) deliveries.push(each);
    await runInGroups(deliveries, quantum);
  };
  return {
    name: WEBHOOK_FAN_OUT,
    // Changes of subscriptions must come in one order with the events to deliver.
    types: [...WEBHOOK_SOURCES, ...history.types],
    begin: () => history.reset(),
    skips,
    handle: (event, quantum) => handleAll([event], quantum),
    handleAll,
  };
};
