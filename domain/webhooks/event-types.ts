/** What a webhook can be told of (specification, Webhook events). */
export const WEBHOOK_EVENTS = [
  'job.transition',
  'job.admin_override',
  'form.submitted',
  'entity.created',
  'entity.updated',
  'entity.deleted',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Of a test delivery; nobody can subscribe to it, and everybody can ask for one. */
export const TEST_EVENT = 'webhook.test';
export const TEST_DATA = { message: 'This is a test delivery.' } as const;

/** Every event, also such as come to be later. */
export const ALL_EVENTS = '*';
export type Subscribed = WebhookEvent | typeof ALL_EVENTS;

/** Each once; where all are meant, `*` alone. */
export const eventsOf = (given: readonly Subscribed[]): readonly Subscribed[] =>
  given.includes(ALL_EVENTS) ? [ALL_EVENTS] : [...new Set(given)];

export const wants = (events: readonly Subscribed[], event: WebhookEvent): boolean =>
  events.includes(ALL_EVENTS) || events.includes(event);
