import { expect } from 'chai';
import { metersOf, typesOf } from '../../../domain/billing/metering.ts';
import { METERS } from '../../../domain/billing/shapes.ts';
import type { Moment } from '../../../domain/billing/tenure.ts';
import { catalogue } from '../../../domain/catalogue.ts';
import type { ProjectedEvent } from '../../../domain/core/projection.ts';
import { meteringProjection } from '../../../projections/billing/metering.ts';
import { memoryReadModel } from '../../support/memory-reader.ts';

describe('Metering', () => {
  const event = (own: Partial<ProjectedEvent>): ProjectedEvent => ({
    type: 'MessageSent',
    data: {},
    id: 'e',
    tenantId: 'acme',
    stream: 'acme.x-1',
    revision: 0,
    at: Date.UTC(2026, 10, 30, 23, 59, 59, 999),
    actor: { kind: 'user', id: 'ann' },
    impersonatedBy: undefined,
    position: '1',
    ...own,
  });
  const documents = (...events: readonly Partial<ProjectedEvent>[]) => {
    const model = memoryReadModel(meteringProjection);
    for (const each of events) model.fold(event(each));
    const of = (collection: string, tenant = 'acme') => [...model.documents(collection, tenant).values()];
    return { days: of('days'), active: of('active'), platform: of('days', 'platform') };
  };

  const part = (messages: number, from: Moment | null = null, users = {}) => ({
    from,
    counts: messages === 0 ? {} : { messages_sent: messages },
    users,
  });
  const handOver = (position: string, partnerId: string | null, at: number): Partial<ProjectedEvent> => ({
    type: 'TenantChanged',
    tenantId: 'platform',
    data: { tenant_id: 'acme', partner_id: partnerId },
    position,
    at,
  });

  it('has event types of the catalogue for every meter', () => {
    const known = new Set(catalogue.map(({ type }) => type));
    for (const meter of METERS) {
      if (meter === 'active_users') continue;
      expect(typesOf(meter), meter).not.to.have.length(0);
      expect(typesOf(meter).filter((type) => !known.has(type))).to.deep.equal([]);
    }
  });

  it('counts a record with a job on two meters, and a test of a webhook on none', () => {
    expect(metersOf({ type: 'RecordCreated', data: {} })).to.deep.equal(['records_created']);
    expect(metersOf({ type: 'RecordCreated', data: { job: {} } })).to.deep.equal([
      'records_created',
      'jobs_started',
    ]);
    expect(metersOf({ type: 'DeliverySucceeded', data: { event: 'webhook.test' } })).to.deep.equal([]);
    expect(metersOf({ type: 'DeliverySucceeded', data: { event: 'form.submitted' } })).to.deep.equal([
      'webhooks_delivered',
    ]);
    expect(metersOf({ type: 'AssistantQuestionAsked', data: {} })).to.deep.equal(['assistant_questions']);
    expect(metersOf({ type: 'constructor', data: {} })).to.deep.equal([]);
  });

  it('counts events on the day they happened, with their log positions', () => {
    const midnight = Date.UTC(2026, 11, 1);
    const { days, active } = documents(
      { position: '1' },
      { position: '2', at: midnight },
      { position: '3', type: 'UserRoleChanged', actor: { kind: 'user', id: 'ben' } },
      { position: '4' },
    );
    expect(days).to.deep.equal([
      { day: '2026-11-30', first: '1', last: '4', parts: [part(2)] },
      { day: '2026-12-01', first: '2', last: '2', parts: [part(1)] },
    ]);
    expect(active).to.deep.equal([
      { month: '2026-11', user: 'ann', days: { '30': '1' } },
      { month: '2026-12', user: 'ann', days: { '01': '2' } },
      { month: '2026-11', user: 'ben', days: { '30': '3' } },
    ]);
  });

  it('counts only persons of the tenant as active', () => {
    const kinds = ['platform_admin', 'api_token', 'extension', 'partner', 'public', 'system'];
    const { days, active, platform } = documents(
      ...kinds.map((kind) => ({ actor: { kind, id: 'x' } })),
      { impersonatedBy: 'root@platform.example' },
      { type: 'UserRoleChanged', actor: { kind: 'system', id: 'x' } },
      { tenantId: 'platform' },
      { tenantId: 'partner_north' },
    );
    expect(active).to.deep.equal([]);
    expect(platform).to.deep.equal([]);
    expect(days).to.have.length(1);
    expect(days[0]?.parts).to.deep.equal([part(7)]);
  });

  it('keeps the document of a person already active on the day', () => {
    const model = memoryReadModel(meteringProjection);
    model.fold(event({ position: '1' }));
    const before = [...model.documents('active', 'acme').values()][0];
    model.fold(event({ position: '2' }));
    expect([...model.documents('active', 'acme').values()][0]).to.equal(before);
  });

  const NOON = Date.UTC(2026, 10, 30, 12);
  const EVENING = NOON + 6 * 3_600_000;
  const created: Partial<ProjectedEvent> = {
    type: 'TenantCreated',
    tenantId: 'platform',
    data: { tenant_id: 'acme', name: 'Acme', partner_id: 'north' },
    position: '0',
    at: Date.UTC(2026, 0, 1),
  };
  const noon = { at: new Date(NOON).toISOString(), position: '3' };

  it('separates a day before and after a hand-over, also for late usage', () => {
    const { days } = documents(
      created,
      { position: '1', at: NOON },
      { position: '2', at: EVENING },
      handOver('3', 'south', NOON),
      { position: '4', at: NOON, actor: { kind: 'user', id: 'ben' } },
      { position: '5', at: NOON - 1, actor: { kind: 'user', id: 'cy' } },
      { position: '6', at: EVENING },
      { position: '7', at: EVENING, actor: { kind: 'user', id: 'ben' } },
    );
    expect(days).to.deep.equal([
      {
        day: '2026-11-30',
        first: '1',
        last: '7',
        parts: [part(3, null, { cy: '5' }), part(3, noon, { ben: '4', ann: '6' })],
      },
    ]);
  });

  it('keeps the tenures of a tenant, and its name in each', () => {
    const model = memoryReadModel(meteringProjection);
    const renamed = { type: 'TenantChanged', tenantId: 'platform', position: '2', at: NOON } as const;
    for (const each of [
      created,
      { ...renamed, data: { tenant_id: 'acme', name: 'Acme & Co' } },
      { ...renamed, data: { tenant_id: 'acme', plan: 'pro' } },
      handOver('3', null, NOON),
      { ...renamed, position: '4', data: { tenant_id: 'acme', name: 'Acme Inc' } },
      handOver('5', 'south', EVENING),
      handOver('6', 'north', EVENING),
    ]) {
      model.fold(event(each));
    }
    const evening = (position: string) => ({ at: new Date(EVENING).toISOString(), position });
    expect(model.documents('customers', 'platform').get('acme')).to.deep.equal({
      id: 'acme',
      name: 'Acme Inc',
      created_at: '2026-01-01T00:00:00.000Z',
      tenures: [
        { partner_id: 'north', from: null, to: noon, name: 'Acme & Co' },
        { partner_id: 'south', from: evening('5'), to: evening('6'), name: 'Acme Inc' },
        { partner_id: 'north', from: evening('6'), to: null, name: 'Acme Inc' },
      ],
      ends: ['north/2026-11-30T12:00:00.000Z/', 'south/2026-11-30T18:00:00.000Z/', 'north/~'],
    });
  });
});
