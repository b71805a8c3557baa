/** Events that a webhook can subscribe to (specification, Webhook events). */
export const WEBHOOK_EVENTS = [
  'job.transition',
  'job.admin_override',
  'form.submitted',
  'entity.created',
  'entity.updated',
  'entity.deleted',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Event of a test delivery, sent on request to a subscription; no subscription can name this event. */
export const TEST_EVENT = 'webhook.test';
export const TEST_DATA = { message: 'This is a test delivery.' } as const;

export const DELIVERED_EVENTS = [...WEBHOOK_EVENTS, TEST_EVENT] as const;
export type DeliveredEvent = (typeof DELIVERED_EVENTS)[number];

/** Every event, including future ones. */
export const ALL_EVENTS = '*';
export type Subscribed = WebhookEvent | typeof ALL_EVENTS;

/** Removes duplicates; `*` replaces all other events. */
export const eventsOf = (given: readonly Subscribed[]): readonly Subscribed[] =>
  given.includes(ALL_EVENTS) ? [ALL_EVENTS] : [...new Set(given)];

export const wants = (events: readonly Subscribed[], event: WebhookEvent): boolean =>
  events.includes(ALL_EVENTS) || events.includes(event);
