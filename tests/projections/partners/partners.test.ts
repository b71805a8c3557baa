import { expect } from 'chai';
import { partnersProjection } from '../../../projections/partners/partners.ts';
import { folded, type PastEvent } from '../../support/folded.ts';
import { BEGINNING } from '../../support/given.ts';

describe('Partners', () => {
  const created: PastEvent = {
    type: 'PartnerCreated',
    data: { partner_id: 'north', name: 'North', home_tenant_id: 'acme' },
    tenantId: 'platform',
  };
  const left = (...changes: readonly Record<string, unknown>[]) =>
    folded(partnersProjection, [
      created,
      ...changes.map((data) => ({
        type: 'PartnerChanged',
        data: { partner_id: 'north', ...data },
        tenantId: 'platform',
      })),
    ]).get('partners/platform/north');
  const document = {
    id: 'north',
    name: 'North',
    home_tenant_id: 'acme',
    created_at: new Date(BEGINNING + 1000).toISOString(),
  };

  it('are stored as created', () => {
    expect(left()).to.deep.equal(document);
  });

  it('change in the members of an event, also to null', () => {
    expect(left({ name: 'New' })).to.deep.equal({ ...document, name: 'New' });
    expect(left({ home_tenant_id: 'beta' })).to.deep.equal({ ...document, home_tenant_id: 'beta' });
    expect(left({ home_tenant_id: null })).to.deep.equal({ ...document, home_tenant_id: null });
  });

  it('are not created by changes alone', () => {
    const changed = { type: 'PartnerChanged', data: { partner_id: 'x', name: 'X' } };
    expect(folded(partnersProjection, [changed]).size).to.equal(0);
  });
});
