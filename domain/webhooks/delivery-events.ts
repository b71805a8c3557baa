import { z } from 'zod';
import { defineEvent, type EventOf } from '../event.ts';

/** The events of `delivery-<id>` (domain/webhooks/delivery.ts). */

const base = { delivery_id: z.string(), subscription_id: z.string() };

/** `deflate`: the body is compressed, and as base64 it may go on in {@link DeliveryBodyContinued}. */
export const DeliveryScheduled = defineEvent(
  'DeliveryScheduled',
  z.object({
    ...base,
    event: z.string(),
    body: z.string(),
    encoding: z.enum(['plain', 'deflate']),
    /** Events that hold the body, this one included. */
    parts: z.number(),
  }),
);

export const DeliveryBodyContinued = defineEvent(
  'DeliveryBodyContinued',
  z.object({ ...base, part: z.number(), body: z.string() }),
);

const attempt = {
  ...base,
  /** As in `X-Service-Attempt`. */
  attempt: z.number(),
  /** The request for a replay that this attempt answers. */
  replay_id: z.string().optional(),
};

export const DeliverySucceeded = defineEvent(
  'DeliverySucceeded',
  z.object({ ...attempt, event: z.string(), response_code: z.number() }),
);

const failure = { ...attempt, response_code: z.number().nullable(), error: z.string() };

/** Another attempt follows. */
export const DeliveryFailed = defineEvent(
  'DeliveryFailed',
  z.object({ ...failure, next_attempt_at: z.string() }),
);

/** Given up: now at the back of the dead-letter log. */
export const DeliveryDeadLettered = defineEvent('DeliveryDeadLettered', z.object(failure));

/** The guard did not let the call go out. */
export const DeliveryRefused = defineEvent('DeliveryRefused', z.object({ ...attempt, error: z.string() }));

/** `order`: of those that are replayed one after the other, which comes first; left out for a single one. */
export const DeliveryReplayRequested = defineEvent(
  'DeliveryReplayRequested',
  z.object({ ...base, replay_id: z.string(), due_at: z.string(), order: z.string().optional() }),
);

/** Its subscription was deleted. */
export const DeliveryDropped = defineEvent('DeliveryDropped', z.object(base));

export const deliveryEvents = [
  DeliveryScheduled,
  DeliveryBodyContinued,
  DeliverySucceeded,
  DeliveryFailed,
  DeliveryDeadLettered,
  DeliveryRefused,
  DeliveryReplayRequested,
  DeliveryDropped,
] as const;
export type DeliveryEvent = EventOf<(typeof deliveryEvents)[number]>;
