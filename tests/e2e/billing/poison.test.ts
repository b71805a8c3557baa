import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { partnerWith, RECONCILIATION, STATEMENTS, statementsOf } from '../../support/billing.ts';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import { GENERATE, priceMessages, send } from './invoice-support.ts';

/** Writes an unreadable event to a customer's stream. */
const poison = async (dataDir: string, tenantId: string): Promise<void> => {
  const events = openSqliteEventStore({ path: join(dataDir, 'events.db') });
  const metadata = {
    $causationId: randomUUID(),
    $correlationId: randomUUID(),
    actor: { kind: 'user', id: randomUUID() },
    hash: '0'.repeat(64),
    occurred_at: new Date().toISOString(),
    prev_hash: '0'.repeat(64),
    schema_version: 1,
    tenant_id: tenantId,
  };
  await events.append(`${tenantId}.conversation-${randomUUID()}`, 'no_stream', [
    {
      id: randomUUID(),
      type: 'MessageSent',
      data: '{"not":"a message"}',
      metadata: JSON.stringify(metadata),
    },
  ]);
  await events.close();
};

describe('A customer whose events cannot be counted', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(endWorld);

  it('gets no wrong figures, and other customers get theirs', async () => {
    const { partner, tenants } = await partnerWith(world, 2);
    const [ill, well] = tenants;
    if (ill === undefined || well === undefined) throw new Error('no tenant');
    await priceMessages(partner);
    for (const tenant of [ill, well]) await send(tenant, 2);
    expect(await statementsOf(partner)).to.have.length(2);
    await world.server.stop();
    await poison(world.server.dataDir, ill.id);
    await world.restart();
    await world.ready();

    const usage = (id: string) => partner.api.get(`${STATEMENTS}/${id}/usage?meter=messages_sent`);
    await eventually('no figures', async () => (await usage(ill.id)).status === 503);
    for (const path of [STATEMENTS, `${STATEMENTS}.csv`, RECONCILIATION, `${RECONCILIATION}.csv`]) {
      const answer = await partner.api.get(path);
      expect([answer.status, answer.error], path).to.deep.equal([503, 'read_model_behind']);
    }
    const refused = await partner.api.post(GENERATE, { customer_id: ill.id });
    expect([refused.status, refused.error]).to.deep.equal([503, 'read_model_behind']);
    expect((await usage(well.id)).json).to.have.length(2);
    expect((await partner.api.post(GENERATE, { customer_id: well.id })).status).to.equal(201);
  });
});
