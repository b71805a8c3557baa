import { expect } from 'chai';
import { COUNTED_TYPES, metersOf, typesOf } from '../../domain/billing/metering.ts';
import { METERS } from '../../domain/billing/shapes.ts';
import { catalogue } from '../../domain/catalogue.ts';
import type { ProjectedEvent } from '../../domain/projection.ts';
import { meteringProjection } from '../../projections/metering.ts';
import { memoryReadModel } from '../support/memory-reader.ts';

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

  it('has a type for every meter, all of them in the catalogue or to come', () => {
    const known = new Set(catalogue.map(({ type }) => type));
    expect(COUNTED_TYPES.filter((type) => !known.has(type))).to.deep.equal([]);
    for (const meter of METERS) {
      if (meter !== 'active_users') expect(typesOf(meter), meter).not.to.have.length(0);
    }
  });

  it('counts a record with its job twice, and a test of a webhook never', () => {
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

  it('puts events into the day they happened on, with their places in the log', () => {
    const midnight = Date.UTC(2026, 11, 1);
    const { days, active } = documents(
      { position: '1' },
      { position: '2', at: midnight },
      { position: '3', type: 'UserRoleChanged', actor: { kind: 'user', id: 'ben' } },
      { position: '4' },
    );
    expect(days).to.deep.equal([
      { day: '2026-11-30', first: '1', last: '4', counts: { messages_sent: 2 } },
      { day: '2026-12-01', first: '2', last: '2', counts: { messages_sent: 1 } },
    ]);
    expect(active).to.deep.equal([
      { month: '2026-11', user: 'ann', days: { '30': '1' } },
      { month: '2026-12', user: 'ann', days: { '01': '2' } },
      { month: '2026-11', user: 'ben', days: { '30': '3' } },
    ]);
  });

  it('counts nobody active who is no person of the tenant, and nothing of the platform’s or a partner’s', () => {
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
    expect(days[0]?.counts).to.deep.equal({ messages_sent: 7 });
  });

  it('leaves the document of a person who was active on the day as it is', () => {
    const model = memoryReadModel(meteringProjection);
    model.fold(event({ position: '1' }));
    const before = [...model.documents('active', 'acme').values()][0];
    model.fold(event({ position: '2' }));
    expect([...model.documents('active', 'acme').values()][0]).to.equal(before);
  });
});
