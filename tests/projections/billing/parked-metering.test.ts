import { expect } from 'chai';
import { MeteredUsage } from '../../../application/billing/metered-usage.ts';
import { Generation } from '../../../application/core/projections/generation.ts';
import { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { ReadStore } from '../../../application/ports/read-store.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import type { Projection } from '../../../domain/core/projection.ts';
import { stateless } from '../../../domain/core/stream-type.ts';
import { openSqliteReadStore } from '../../../infrastructure/read-store/sqlite/store.ts';
import { customerById } from '../../../projections/billing/customers.ts';
import { activeOf, daysOf, meteringProjection } from '../../../projections/billing/metering.ts';
import { causeOf } from '../../support/book.ts';
import { silentMetrics } from '../../support/fakes.ts';
import { startNode } from '../../support/node.ts';
import { endOf, takeLease } from '../../support/read-model-kit.ts';

const GENERATION = { projection: 'metering', tag: 'v2' };
const DAY = '2025-11-30T00:00:00.000Z';
const NEXT_DAY = '2025-12-01T00:00:00.000Z';

/** The log of a tenant with usage before and after a hand-over, all on one day. */
const story = async () => {
  const node = startNode();
  const append = async (tenantId: string, category: string, hour: number, type: string, data: object) => {
    await node.commands.execute({
      tenantId,
      type: stateless<{ readonly type: string; readonly data: object }>(category),
      id: 'acme',
      cause: causeOf(`${category} ${hour}`),
      decide: () => [{ type, data, at: Date.parse(DAY) + hour * 3_600_000 }],
    });
  };
  const delivery = { delivery_id: 'd', subscription_id: 's', attempt: 1, response_code: 200 };
  const use = { ...delivery, event: 'form.submitted' };
  await append(PLATFORM, 'tenant', 0, 'TenantCreated', {
    tenant_id: 'acme',
    name: 'Acme',
    partner_id: 'north',
    plan: 'pro',
    entitlements: { ledger: false, assistant: false },
    currency: 'EUR',
    timezone: 'UTC',
  });
  await append('acme', 'usage', 9, 'DeliverySucceeded', use);
  await append(PLATFORM, 'tenant', 12, 'TenantChanged', { tenant_id: 'acme', partner_id: 'south' });
  await append('acme', 'usage', 18, 'DeliverySucceeded', use);
  return { ...node, log: await node.events.readAll() };
};
type Story = Awaited<ReturnType<typeof story>>;

/** Folds the log, with a fault in the event at the index `poisoned` that is mended before the retry. */
const fold = async (
  { log, ...node }: Story,
  store: ReadStore,
  poisoned: number,
): Promise<readonly string[]> => {
  let isMended = false;
  const projection: Projection = {
    ...meteringProjection,
    fold: (event) => {
      if (!isMended && event.position === log[poisoned]?.position) throw new TypeError('a poison event');
      return meteringProjection.fold(event);
    },
  };
  await store.prepare(GENERATION, projection.collections);
  const generation = new Generation(projection, GENERATION, { ...node, store, metrics: silentMetrics });
  await generation.begin(await takeLease(store, GENERATION));
  await generation.apply(log, endOf(log));
  isMended = true;
  const parked = generation.parkedTenants;
  for (const tenant of parked) await generation.retry(tenant);
  expect(generation.parkedTenants).to.deep.equal([]);
  return parked;
};

const usageOf = async ({ events, codec, clock }: Story, store: ReadStore, partnerId: string) => {
  const reader = new ReadModels([meteringProjection], store, clock).reader('metering');
  const usage = new MeteredUsage({
    events,
    codec,
    model: {
      tenures: async (partner, tenant) => (await customerById(reader, partner, tenant))?.tenures ?? [],
      days: (tenantId, range) => daysOf(reader, tenantId, range),
      active: (tenantId, range) => activeOf(reader, tenantId, range),
    },
  });
  const customer = await customerById(reader, partnerId, 'acme');
  if (customer === undefined) throw new Error('not a customer');
  const periods = await usage.periods(customer, [DAY, NEXT_DAY]);
  return periods.map(({ counts, users }) => ({ counts, users: [...users] }));
};

describe('Usage on the day of a hand-over', () => {
  for (const [how, poisoned, parked] of [
    ['in the order of the log', -1, []],
    ['by a retry of the tenant after its hand-over', 1, ['acme']],
    ['before a retry of the platform with the hand-over', 2, [PLATFORM]],
  ] as const) {
    it(`belongs to the partner of its time when it is folded ${how}`, async () => {
      const told = await story();
      const store = await openSqliteReadStore({ path: ':memory:' });
      expect(await fold(told, store, poisoned)).to.deep.equal(parked);
      for (const partner of ['north', 'south']) {
        expect(await usageOf(told, store, partner), partner).to.deep.equal([
          { counts: { webhooks_delivered: 1 }, users: ['ann'] },
        ]);
      }
      await store.close();
    });
  }
});
