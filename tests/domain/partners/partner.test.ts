import { expect } from 'chai';
import { assertionStream, exchangeAssertion } from '../../../domain/partners/assertion.ts';
import {
  type ChangePartner,
  changePartner,
  createPartner,
  isPartnerId,
  type PartnerEvent,
  partnerScope,
  partnerStream,
} from '../../../domain/partners/partner.ts';
import { isTenantId } from '../../../domain/tenancy/tenant.ts';
import { given } from '../../support/given.ts';

const settings = { name: 'North', home_tenant_id: null };
const created: PartnerEvent = { type: 'PartnerCreated', data: { partner_id: 'north', ...settings } };
const changing = (command: ChangePartner) =>
  given(partnerStream, created).when((state) => changePartner(state, command));

describe('A partner', () => {
  it('is created once', () => {
    given(partnerStream)
      .when((state) => createPartner(state, { partnerId: 'north', ...settings }))
      .gives(created);
    given(partnerStream, created)
      .when((state) => createPartner(state, { partnerId: 'north', ...settings }))
      .isRefused('already_exists', { field: 'id' });
  });

  it('appends only the members that differ', () => {
    changing({ name: 'South', home_tenant_id: null }).gives({
      type: 'PartnerChanged',
      data: { partner_id: 'north', name: 'South' },
    });
    changing({ home_tenant_id: 'acme' }).gives({
      type: 'PartnerChanged',
      data: { partner_id: 'north', home_tenant_id: 'acme' },
    });
    changing({ name: 'South', home_tenant_id: 'acme' }).thenAgainNothing();
    changing({ ...settings }).givesNothing();
    changing({}).givesNothing();
  });

  it('clears the home tenant when it is changed to null', () => {
    given(partnerStream, created, {
      type: 'PartnerChanged',
      data: { partner_id: 'north', home_tenant_id: 'acme' },
    })
      .when((state) => changePartner(state, { home_tenant_id: null }))
      .gives({ type: 'PartnerChanged', data: { partner_id: 'north', home_tenant_id: null } });
  });

  it('must exist to be changed', () => {
    given(partnerStream)
      .when((state) => changePartner(state, { name: 'x' }))
      .isRefused('not_found');
  });

  it('has an id that fits a stream name, and a scope that no tenant has', () => {
    for (const id of ['a', 'acme_2', `a${'x'.repeat(39)}`, 'platform']) {
      expect(isPartnerId(id), id).to.equal(true);
      expect(isTenantId(partnerScope(id)), id).to.equal(false);
    }
    for (const id of ['', 'A', '2a', '_x', 'a-b', 'a.b', 'a b', 'a\n', 'é', `a${'x'.repeat(40)}`]) {
      expect(isPartnerId(id), id).to.equal(false);
    }
  });
});

describe('An assertion', () => {
  it('is exchanged once', () => {
    const data = {
      partner_id: 'north',
      assertion_id: 'h',
      user_id: 'nora',
      permissions: ['partner-billing'],
    };
    given(assertionStream)
      .when((state) => exchangeAssertion(state, data))
      .gives({ type: 'PartnerAssertionExchanged', data });
    given(assertionStream, { type: 'PartnerAssertionExchanged', data })
      .when((state) => exchangeAssertion(state, data))
      .isRefused('invalid_credential');
  });
});
