import { type LeaseOptions, pause } from '../../application/lease-holder.ts';
import type { OutboundHttp } from '../../application/ports/outbound-http.ts';
import type { Subscriber } from '../../application/subscriber.ts';
import { webhookFanOut } from '../../application/subscribers/webhook-fan-out.ts';
import {
  deadLetterCounter,
  deadLetterReplayer,
  webhookSecretEraser,
} from '../../application/subscribers/webhook-keepers.ts';
import { type DeadLetterLog, WebhookDeliveries } from '../../application/webhook-deliveries.ts';
import { Attempts } from '../../application/webhooks/attempts.ts';
import type { DeliveryQueue } from '../../application/webhooks/backlog.ts';
import { runWebhookDispatcher } from '../../application/webhooks/dispatcher.ts';
import { Turns } from '../../application/webhooks/turns.ts';
import { Webhooks } from '../../application/webhooks.ts';
import { every } from '../../domain/projection.ts';
import { guardedHttp } from '../../infrastructure/http/guarded-http.ts';
import { newWebhookSecret } from '../../infrastructure/webhook-secret.ts';
import { deadLettersOf, lanesOf, pendingDeliveriesOf } from '../../projections/webhook-deliveries.ts';
import type { Core } from './core.ts';

/** Webhook subscriptions and their deliveries. */
export interface WebhooksArea {
  readonly webhooks: Webhooks;
  readonly webhookDeliveries: WebhookDeliveries;
}

const PROJECTION = 'webhook_deliveries';
const HOUR_MS = 3_600_000;
/** Calls at once: of all tenants, and of each. */
const LIMITS = { total: 512, perTenant: 128, reserved: 4 };

const guarded = ({ config }: Core): OutboundHttp =>
  guardedHttp({ allowedNetworks: config.WEBHOOK_ALLOWED_NETWORKS, allowHttp: config.WEBHOOK_ALLOW_HTTP });

const deadLettersIn = ({ readModels }: Core): DeadLetterLog => {
  const reader = readModels.reader(PROJECTION);
  return async function* (tenantId, subscriptionId, position) {
    await readModels.waitFor(tenantId, [PROJECTION], position);
    for await (const { delivery, dead_at } of every((page) =>
      deadLettersOf(reader, tenantId, subscriptionId, page),
    )) {
      if (dead_at !== null) yield { id: delivery.id, deadAt: dead_at };
    }
  };
};

const queueIn = ({ readModels }: Core): DeliveryQueue => {
  const reader = readModels.reader(PROJECTION);
  return {
    subscriptions: async function* (seen) {
      await readModels.waitFor(undefined, [PROJECTION], seen);
      for await (const lane of every((page) => lanesOf(reader, page))) {
        yield { tenantId: lane.tenant_id, subscriptionId: lane.subscription_id };
      }
    },
    pending: async ({ tenantId, subscriptionId, ordered }, limit, seen) => {
      await readModels.waitFor(tenantId, [PROJECTION], seen);
      const queue = ordered ? 'ordered' : 'parallel';
      return pendingDeliveriesOf(reader, tenantId, subscriptionId, queue, limit);
    },
  };
};

export const composeWebhooks = (core: Core): WebhooksArea => {
  const { config, commands, states, keys, clock, stores } = core;
  return {
    webhooks: new Webhooks({
      commands,
      states,
      keys,
      http: guarded(core),
      newSecret: newWebhookSecret,
      graceMs: config.WEBHOOK_SECRET_GRACE_HOURS * HOUR_MS,
    }),
    webhookDeliveries: new WebhookDeliveries({
      commands,
      states,
      clock,
      deadLetters: deadLettersIn(core),
      head: () => stores.events.head(),
    }),
  };
};

export const webhookSubscribers = (
  { commands, states, codec, keys, stores }: Core,
  { webhookDeliveries }: WebhooksArea,
): readonly Subscriber[] => [
  webhookFanOut({ commands, states, codec, events: stores.events }),
  deadLetterCounter({ commands, states }),
  deadLetterReplayer({ webhookDeliveries }),
  webhookSecretEraser({ keys }),
];

/** Sends what is due, until aborted. */
export const runWebhooks = (core: Core, lease: LeaseOptions, signal: AbortSignal): Promise<void> => {
  const { config, commands, states, codec, keys, ids, clock, metrics, logger, stores } = core;
  const { events } = stores;
  const attempts = new Attempts({
    commands,
    states,
    events,
    codec,
    keys,
    ids,
    metrics,
    http: guarded(core),
    clock,
    logger,
    random: Math.random,
    sleep: pause,
    retrySeconds: config.WEBHOOK_RETRY_SECONDS,
    timeoutMs: config.WEBHOOK_TIMEOUT_MS,
  });
  const deps = {
    attempts,
    turns: new Turns(LIMITS),
    queue: queueIn(core),
    clock,
    logger,
    sleep: pause,
    events,
    codec,
    states,
  };
  return runWebhookDispatcher(deps, lease, signal);
};
