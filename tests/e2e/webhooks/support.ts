import { z } from 'zod';
import { eventually } from '../../support/server.ts';
import type { Member, TestTenant, World } from '../../support/world.ts';
import { ENTITIES } from '../workflow/support.ts';

export const WEBHOOKS = '/api/v1/tenant/webhooks';

/** Allows HTTP to loopback, with short retry pauses, and a long timeout for receivers on a busy machine. */
export const OPEN = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_ALLOW_HTTP: '1',
  WEBHOOK_RETRY_SECONDS: '0.05,0.05,0.05,0.05',
  WEBHOOK_TIMEOUT_MS: '30000',
} as const;

const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

export const subscription = z.strictObject({
  id: z.uuid(),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string(),
  state: z.enum(['active', 'paused']),
  created_at: instant,
  updated_at: instant,
  consecutive_dead_letters: z.int(),
  secret_rotated_at: instant.nullable(),
});
export const created = subscription.extend({ secret: z.string().regex(/^whsec_[A-Za-z0-9_-]{43}$/) });
export const subscriptions = z.array(subscription);

export const delivery = z.strictObject({
  id: z.uuid(),
  event: z.string(),
  status: z.enum(['pending', 'delivered', 'failed', 'dead']),
  attempts: z.int(),
  response_code: z.int().nullable(),
  last_error: z.string().max(500).nullable(),
  created_at: instant,
  last_attempt_at: instant.nullable(),
  next_attempt_at: instant.nullable(),
});
export const deliveryDetail = delivery.extend({
  subscription_id: z.uuid(),
  body: z.string(),
  history: z.array(
    z.strictObject({
      attempt: z.int(),
      at: instant,
      status: z.enum(['delivered', 'failed', 'refused']),
      response_code: z.int().nullable(),
      ms: z.int().nullable(),
      error: z.string().nullable(),
    }),
  ),
});
export type Delivery = z.output<typeof delivery>;

export const paidTenant = async (world: World, plan = 'enterprise'): Promise<TestTenant> => {
  const tenant = await world.tenant();
  const changed = await world.platform.patch(`/super/tenants/${tenant.id}`, { plan });
  if (changed.status !== 200) throw new Error(changed.text);
  return tenant;
};

export const subscribe = async (
  who: Member,
  url: string,
  own: { events?: readonly string[] | string; description?: string } = {},
) => (await who.api.post(WEBHOOKS, { url, events: ['*'], ...own })).as(created, 201);

export const readSubscription = async (who: Member, id: string) =>
  (await who.api.get(`${WEBHOOKS}/${id}`)).as(subscription);

export const readDelivery = async (who: Member, id: string) =>
  (await who.api.get(`${WEBHOOKS}/deliveries/${id}`)).as(deliveryDetail);

/** Deliveries of all pages, newest first. */
export const deliveries = async (who: Member, id: string, filter = 'limit=200'): Promise<Delivery[]> => {
  const found: Delivery[] = [];
  let next: string | undefined = `${WEBHOOKS}/${id}/deliveries?${filter}`;
  while (next !== undefined) {
    const answer = await who.api.get(next);
    found.push(...answer.as(z.array(delivery)));
    next = /^<([^>]+)>/.exec(answer.header('link') ?? '')?.[1];
  }
  return found;
};

export const ofStatus = (who: Member, id: string, status: Delivery['status'], count: number, ms = 8000) =>
  eventually(
    `${count} ${status}`,
    async () => {
      const found = await deliveries(who, id, `limit=200&status=${status}`);
      return found.length === count ? found : undefined;
    },
    ms,
  );

export const test = async (who: Member, id: string): Promise<string> => {
  const answer = await who.api.post(`${WEBHOOKS}/${id}/test`);
  return answer.as(z.strictObject({ delivery_id: z.uuid() }), 202).delivery_id;
};

/** An entity without a workflow. */
export const plainEntity = async (tenant: TestTenant, name: string): Promise<void> => {
  const fields = [
    { key: 'title', label: 'Title', type: 'text', required: false },
    { key: 'text', label: 'Text', type: 'long_text', required: false },
    { key: 'more', label: 'More', type: 'long_text', required: false },
    { key: 'noise', label: 'Noise', type: 'long_text', required: false },
  ];
  const answer = await tenant.admin.api.post(ENTITIES, { name, label: name, fields });
  if (answer.status !== 201) throw new Error(answer.text);
};

const record = z.looseObject({ id: z.uuid(), version: z.int() });

export const addRecord = async (who: Member, entity: string, title: string): Promise<string> => {
  const answer = await who.api.post(`${ENTITIES}/${entity}/records`, { values: { title } });
  return answer.as(record, 201).id;
};
