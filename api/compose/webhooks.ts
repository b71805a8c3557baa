import { FairLimiter } from '../../application/core/concurrency/fair-limiter.ts';
import { randomNumber } from '../../application/core/runtime/random.ts';
import { pause } from '../../application/core/runtime/timers.ts';
import type { LeaseOptions } from '../../application/core/subscriptions/lease.ts';
import type { OutboundHttp } from '../../application/ports/outbound-http.ts';
import { deadLetterCounter } from '../../application/webhooks/dead-letter-counter.ts';
import { DeliveryAttempts } from '../../application/webhooks/delivery-attempts.ts';
import { DeliveryBatches } from '../../application/webhooks/delivery-batches.ts';
import { runWebhookDispatcher } from '../../application/webhooks/dispatcher.ts';
import type { PendingDeliveries } from '../../application/webhooks/endpoint-queue.ts';
import {
  type DeadLetterLog,
  deadLetterReplayer,
  WebhookDeliveries,
} from '../../application/webhooks/webhook-deliveries.ts';
import { webhookFanOut } from '../../application/webhooks/webhook-fan-out.ts';
import { Webhooks } from '../../application/webhooks/webhooks.ts';
import { newWebhookSecret } from '../../infrastructure/webhook-secret.ts';
import {
  deadLettersOf,
  pendingDeliveriesOf,
  subscriptionsWithDeliveries,
} from '../../projections/webhooks/webhook-deliveries.ts';
import { webhookDeliveryRoutes } from '../routes/webhooks/webhook-deliveries.ts';
import { webhookRoutes } from '../routes/webhooks/webhooks.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

const PROJECTION = 'webhook_deliveries';
const HOUR_MS = 3_600_000;
/** Maximum of concurrent calls, in total and per tenant; a tenant gets four slots even beyond the total. */
const LIMITS = { total: 512, perTenant: 128, reserved: 4 };

const guarded = ({ adapters, config }: Core): OutboundHttp =>
  adapters.guardedHttp({
    allowedNetworks: config.WEBHOOK_ALLOWED_NETWORKS,
    allowHttp: config.WEBHOOK_ALLOW_HTTP,
  });

const deadLettersIn = ({ readModels }: Core): DeadLetterLog => {
  const reader = readModels.reader(PROJECTION);
  return async function* (tenantId, subscriptionId, position) {
    await readModels.waitFor(tenantId, [PROJECTION], position);
    yield* deadLettersOf(reader, tenantId, subscriptionId);
  };
};

const pendingIn = ({ readModels }: Core): PendingDeliveries => {
  const reader = readModels.reader(PROJECTION);
  return {
    subscriptions: async function* (seen) {
      await readModels.waitFor(undefined, [PROJECTION], seen);
      yield* subscriptionsWithDeliveries(reader);
    },
    of: async (name, limit, seen) => {
      await readModels.waitFor(name.tenantId, [PROJECTION], seen);
      return pendingDeliveriesOf(reader, name, limit);
    },
  };
};

/** Webhook subscriptions and their deliveries. */
export const composeWebhooks = (core: Core) => {
  const webhooks = new Webhooks({
    ...core,
    http: guarded(core),
    newSecret: newWebhookSecret,
    graceMs: core.config.WEBHOOK_SECRET_GRACE_HOURS * HOUR_MS,
  });
  const webhookDeliveries = new WebhookDeliveries({ ...core, deadLetters: deadLettersIn(core) });
  const deps = { ...core, webhooks, webhookDeliveries };
  return {
    webhooks,
    routes: [...webhookRoutes(deps), ...webhookDeliveryRoutes(deps)],
    subscribers: [webhookFanOut(core), deadLetterCounter(core), deadLetterReplayer(deps)],
    background: (lease, signal) => runWebhooks(core, lease, signal),
  } satisfies Area & Record<string, unknown>;
};

/** Sends due deliveries until aborted. */
const runWebhooks = (core: Core, lease: LeaseOptions, signal: AbortSignal): Promise<void> => {
  const { config } = core;
  const parts = { ...core, sleep: pause };
  const deliveries = new DeliveryBatches(parts);
  const attempts = new DeliveryAttempts({
    ...parts,
    deliveries,
    http: guarded(core),
    random: randomNumber,
    retrySeconds: config.WEBHOOK_RETRY_SECONDS,
    timeoutMs: config.WEBHOOK_TIMEOUT_MS,
  });
  const limiter = new FairLimiter(LIMITS);
  const deps = { ...parts, deliveries, attempts, limiter, pending: pendingIn(core) };
  return runWebhookDispatcher(deps, lease, signal);
};
