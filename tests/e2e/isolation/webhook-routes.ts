import { WEBHOOKS } from '../webhooks/support.ts';
import type { Attack } from './routes.ts';

/** Attacks on webhook subscriptions and their deliveries. */
export const WEBHOOK_ROUTES: Readonly<Record<string, Attack>> = {
  'GET /api/v1/tenant/webhooks': ({ cursor, tenant }) => [
    { method: 'GET', path: `${WEBHOOKS}?cursor=${cursor}` },
    { method: 'GET', path: `${WEBHOOKS}?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/webhooks': ({ tenant, webhook }) => [
    {
      method: 'POST',
      path: WEBHOOKS,
      body: { id: webhook, url: 'https://example.com/', events: '*', tenant_id: tenant },
    },
    { method: 'POST', path: `${WEBHOOKS}?tenant_id=${tenant}`, body: {} },
  ],
  'GET /api/v1/tenant/webhooks/{id}': ({ webhook, delivery }) => [
    { method: 'GET', path: `${WEBHOOKS}/${webhook}` },
    { method: 'GET', path: `${WEBHOOKS}/${delivery}` },
  ],
  'PATCH /api/v1/tenant/webhooks/{id}': ({ webhook }) => [
    { method: 'PATCH', path: `${WEBHOOKS}/${webhook}`, body: { state: 'paused' } },
    { method: 'PATCH', path: `${WEBHOOKS}/${webhook}`, body: { url: 'http://10.0.0.1/' } },
    { method: 'PATCH', path: `${WEBHOOKS}/${webhook}`, body: {} },
  ],
  'DELETE /api/v1/tenant/webhooks/{id}': ({ webhook }) => [
    { method: 'DELETE', path: `${WEBHOOKS}/${webhook}` },
  ],
  'POST /api/v1/tenant/webhooks/{id}/rotate-secret': ({ webhook }) => [
    { method: 'POST', path: `${WEBHOOKS}/${webhook}/rotate-secret` },
  ],
  'POST /api/v1/tenant/webhooks/{id}/test': ({ webhook }) => [
    { method: 'POST', path: `${WEBHOOKS}/${webhook}/test` },
  ],
  'GET /api/v1/tenant/webhooks/{id}/deliveries': ({ webhook, cursor }, own) => [
    { method: 'GET', path: `${WEBHOOKS}/${webhook}/deliveries` },
    { method: 'GET', path: `${WEBHOOKS}/${webhook}/deliveries?status=delivered&event=webhook.test` },
    { method: 'GET', path: `${WEBHOOKS}/${own.webhook}/deliveries?cursor=${cursor}` },
  ],
  'GET /api/v1/tenant/webhooks/deliveries/{delivery_id}': ({ delivery, webhook }) => [
    { method: 'GET', path: `${WEBHOOKS}/deliveries/${delivery}` },
    { method: 'GET', path: `${WEBHOOKS}/deliveries/${webhook}` },
  ],
  'POST /api/v1/tenant/webhooks/{id}/replay-dlq': ({ webhook }) => [
    { method: 'POST', path: `${WEBHOOKS}/${webhook}/replay-dlq` },
  ],
  'POST /api/v1/tenant/webhooks/deliveries/{delivery_id}/replay': ({ delivery, webhook }) => [
    { method: 'POST', path: `${WEBHOOKS}/deliveries/${delivery}/replay` },
    { method: 'POST', path: `${WEBHOOKS}/deliveries/${webhook}/replay` },
  ],
};
