import { expect } from 'chai';
import {
  type ChangeTenant,
  changeTenant,
  createTenant,
  isTenantId,
  type TenantEvent,
  tenantStream,
} from '../../../domain/tenancy/tenant.ts';
import { given } from '../../support/given.ts';

const settings = {
  name: 'Acme',
  plan: 'pro' as const,
  partner_id: null,
  entitlements: { ledger: true, assistant: false },
  currency: 'EUR',
  timezone: 'UTC',
};
const created: TenantEvent = { type: 'TenantCreated', data: { tenant_id: 'acme', ...settings } };
const changing = (command: ChangeTenant) =>
  given(tenantStream, created).when((state) => changeTenant(state, command));

describe('A tenant', () => {
  it('is created once', () => {
    given(tenantStream)
      .when((state) => createTenant(state, { tenantId: 'acme', ...settings }))
      .gives(created);
    given(tenantStream, created)
      .when((state) => createTenant(state, { tenantId: 'acme', ...settings }))
      .isRefused('already_exists', { field: 'id' });
  });

  it('can be created suspended', () => {
    given(tenantStream)
      .when((state) => createTenant(state, { tenantId: 'acme', ...settings, status: 'suspended' }))
      .gives(created, { type: 'TenantStatusChanged', data: { tenant_id: 'acme', status: 'suspended' } });
    given(tenantStream)
      .when((state) => createTenant(state, { tenantId: 'acme', ...settings, status: 'active' }))
      .gives(created);
  });

  it('records the first admin in the event and keeps nothing of it in the state', () => {
    const firstAdmin = { id: 'ann', email: 'ann@example.com', displayName: 'Ann', passwordHash: 'hash' };
    const withAdmin: TenantEvent = {
      type: 'TenantCreated',
      data: {
        tenant_id: 'acme',
        ...settings,
        admin_id: 'ann',
        admin_email: 'ann@example.com',
        admin_display_name: 'Ann',
        admin_password_hash: 'hash',
      },
    };
    given(tenantStream)
      .when((state) => createTenant(state, { tenantId: 'acme', ...settings, firstAdmin }))
      .gives(withAdmin);
    expect(given(tenantStream, withAdmin).state).to.deep.equal(given(tenantStream, created).state);
  });

  it('appends only the members that differ', () => {
    changing({ name: 'Acme Ltd', plan: 'pro', currency: undefined }).gives({
      type: 'TenantChanged',
      data: { tenant_id: 'acme', name: 'Acme Ltd' },
    });
    changing({ partner_id: 'partner' }).gives({
      type: 'TenantChanged',
      data: { tenant_id: 'acme', partner_id: 'partner' },
    });
  });

  it('keeps the entitlements that a change omits', () => {
    changing({ entitlements: { assistant: true } }).gives({
      type: 'TenantChanged',
      data: { tenant_id: 'acme', entitlements: { ledger: true, assistant: true } },
    });
    changing({ entitlements: { assistant: undefined, ledger: true } }).givesNothing();
  });

  it('appends nothing for equal values', () => {
    changing({ ...settings, status: 'active' }).givesNothing();
    changing({}).givesNothing();
    changing({
      name: 'New',
      partner_id: 'p',
      status: 'suspended',
      entitlements: { ledger: false },
    }).thenAgainNothing();
  });

  it('is suspended and reactivated', () => {
    changing({ status: 'suspended' }).gives({
      type: 'TenantStatusChanged',
      data: { tenant_id: 'acme', status: 'suspended' },
    });
    given(tenantStream, created, {
      type: 'TenantStatusChanged',
      data: { tenant_id: 'acme', status: 'suspended' },
    })
      .when((state) => changeTenant(state, { status: 'active' }))
      .gives({ type: 'TenantStatusChanged', data: { tenant_id: 'acme', status: 'active' } });
  });

  it('must exist to be changed', () => {
    given(tenantStream)
      .when((state) => changeTenant(state, { name: 'x' }))
      .isRefused('not_found');
  });

  it('has an id that fits a stream name and is not the platform’s or a partner’s', () => {
    for (const id of ['a', 'acme_2', `a${'x'.repeat(39)}`, 'partner', 'platforms']) {
      expect(isTenantId(id), id).to.equal(true);
    }
    const bad = [
      '',
      'A',
      '2acme',
      '_x',
      'a-b',
      'a.b',
      'a/b',
      'a b',
      `a${'x'.repeat(40)}`,
      'platform',
      'partner_x',
      'acme\n',
      'é',
    ];
    for (const id of bad) expect(isTenantId(id), id).to.equal(false);
  });
});
