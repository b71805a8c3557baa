import { expect } from 'chai';
import type { DocumentReader } from '../../../domain/core/projection.ts';
import {
  deliveriesOf,
  webhookDeliveriesProjection,
} from '../../../projections/webhooks/webhook-deliveries.ts';
import { BEGINNING } from '../../support/given.ts';
import { memoryReadModel } from '../../support/memory-reader.ts';

describe('The list of deliveries of an event', () => {
  it('shows a delivery once whose status changes while the list is read', async () => {
    const { fold, reader } = memoryReadModel(webhookDeliveriesProjection);
    const ids = { delivery_id: 'one', subscription_id: 'hook' };
    fold({
      type: 'DeliveryScheduled',
      data: { ...ids, event: 'entity.created', body: '{}', encoding: 'plain', parts: 1 },
      id: 'event-0',
      tenantId: 'acme',
      stream: 'acme.delivery-one',
      revision: 0,
      at: BEGINNING,
      actor: { kind: 'system', id: 'webhooks' },
      impersonatedBy: undefined,
      position: '0000000000000001',
    });
    const end = { values: [new Date(BEGINNING).toISOString()], id: 'one' };
    const changing: DocumentReader = {
      ...reader,
      entries: async (_collection, _tenantId, { equals = [] }) =>
        equals[1] === 'pending' || equals[1] === 'delivered' ? [end] : [],
    };
    const page = { limit: 2, after: undefined };
    const { docs, next } = await deliveriesOf(changing, 'acme', 'hook', { event: 'entity.created' }, page);
    expect(docs.map(({ delivery }) => delivery.id)).to.deep.equal(['one']);
    expect(next).to.equal(undefined);
  });
});
