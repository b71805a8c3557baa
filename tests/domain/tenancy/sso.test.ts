import { expect } from 'chai';
import fc from 'fast-check';
import { allowedReturn, changeSso, isIssuer, isReturnOrigin } from '../../../domain/tenancy/sso.ts';
import { changeTenant, type TenantEvent, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { given, refusal } from '../../support/given.ts';

const settings = {
  issuer: 'https://login.example',
  client_id: 'us',
  client_secret: 'secret',
  return_origins: ['https://app.example'],
};
const configured: TenantEvent = {
  type: 'TenantSsoConfigured',
  data: { tenant_id: 'acme', ...settings, client_secret: 'sealed' },
};
const created: TenantEvent = {
  type: 'TenantCreated',
  data: {
    tenant_id: 'acme',
    name: 'Acme',
    plan: 'pro',
    partner_id: null,
    entitlements: { ledger: false, assistant: false },
    currency: 'EUR',
    timezone: 'UTC',
  },
};

describe('Single sign-on of a tenant', () => {
  const tenant = given(tenantStream, created, configured);
  const sso = tenant.state.exists ? tenant.state.sso : undefined;
  const present = { sso, secret: 'secret' };
  const nothing = { sso: undefined, secret: undefined };
  const { client_secret: _secret, ...withoutSecret } = settings;

  it('holds the configuration and its revision in the tenant’s state', () => {
    expect(sso).to.deep.equal({
      issuer: 'https://login.example',
      clientId: 'us',
      clientSecret: 'sealed',
      returnOrigins: ['https://app.example'],
      revision: 1,
    });
    const removed: TenantEvent = { type: 'TenantSsoRemoved', data: { tenant_id: 'acme' } };
    const later = given(tenantStream, created, configured, removed, configured).state;
    expect(later.exists && later.sso?.revision).to.equal(3);
    const gone = given(tenantStream, created, configured, removed).state;
    expect(gone.exists && gone.sso).to.equal(undefined);
    given(tenantStream, created, configured)
      .when((state) => changeTenant(state, { name: 'Acme' }))
      .givesNothing();
  });

  it('is configured, replaced as a whole, and removed', () => {
    expect(changeSso('acme', nothing, settings)).to.deep.equal([
      { type: 'TenantSsoConfigured', data: { tenant_id: 'acme', ...settings } },
    ]);
    const other = { ...settings, issuer: 'https://other.example', return_origins: [] };
    expect(changeSso('acme', present, other)).to.deep.equal([
      { type: 'TenantSsoConfigured', data: { tenant_id: 'acme', ...other } },
    ]);
    expect(changeSso('acme', present, null)).to.deep.equal([
      { type: 'TenantSsoRemoved', data: { tenant_id: 'acme' } },
    ]);
  });

  it('appends nothing for equal values', () => {
    expect(changeSso('acme', present, settings)).to.deep.equal([]);
    expect(changeSso('acme', present, withoutSecret)).to.deep.equal([]);
    expect(changeSso('acme', present, undefined)).to.deep.equal([]);
    expect(changeSso('acme', nothing, null)).to.deep.equal([]);
  });

  it('keeps the stored secret when a change gives none, but only for the same client and issuer', () => {
    const origins = { ...withoutSecret, return_origins: ['https://new.example'] };
    expect(changeSso('acme', present, origins)).to.deep.equal([
      { type: 'TenantSsoConfigured', data: { tenant_id: 'acme', ...origins, client_secret: 'secret' } },
    ]);
    for (const own of [{ issuer: 'https://evil.example' }, { client_id: 'them' }]) {
      const error = refusal(() => changeSso('acme', present, { ...withoutSecret, ...own }));
      expect(error.code).to.equal('validation_failed');
      expect(error.details).to.have.property('field', 'sso.client_secret');
    }
    expect(refusal(() => changeSso('acme', nothing, withoutSecret)).code).to.equal('validation_failed');
  });
});

describe('The issuer of a provider', () => {
  it('is an https URL in one spelling', () => {
    for (const issuer of [
      'https://login.example',
      'https://login.example/',
      'https://login.example:8443',
      'https://login.example/tenant/v2.0',
      'https://[2001:db8::1]/x/',
    ]) {
      expect(isIssuer(issuer, false), issuer).to.equal(true);
    }
    for (const issuer of [
      '',
      'login.example',
      'https://',
      'ftp://login.example',
      'http://login.example',
      'https://user@login.example',
      'https://user:pass@login.example',
      'https://@login.example',
      'https://login.example/?x=1',
      'https://login.example?',
      'https://login.example/#x',
      'https://login.example#',
      'https://LOGIN.example',
      'https://login.example/a/../b',
      ' https://login.example',
      'https:\\\\login.example',
      'https://login.example\n',
      'https://login.example/.well-known/openid-configuration',
    ]) {
      expect(isIssuer(issuer, true), issuer).to.equal(false);
    }
  });

  it('may use plain http on loopback, for trials', () => {
    for (const issuer of [
      'http://localhost:9000',
      'http://127.0.0.1:9000/x',
      'http://127.9.9.9',
      'http://[::1]:1',
    ]) {
      expect(isIssuer(issuer, true), issuer).to.equal(true);
      expect(isIssuer(issuer, false), issuer).to.equal(false);
    }
    for (const issuer of [
      'http://localhost.evil.example',
      'http://127.0.0.1.evil.example',
      'http://10.0.0.1',
    ]) {
      expect(isIssuer(issuer, true), issuer).to.equal(false);
    }
  });
});

describe('The return address', () => {
  it('is limited to exact origins', () => {
    for (const origin of [
      'https://app.example',
      'https://app.example:8443',
      'http://localhost:3000',
      'http://127.0.0.1',
    ]) {
      expect(isReturnOrigin(origin), origin).to.equal(true);
    }
    for (const origin of [
      '',
      'null',
      '*',
      'https://*',
      'app.example',
      'https://app.example/',
      'https://app.example:443',
      'https://app.example/path',
      'https://user@app.example',
      'http://app.example',
      'javascript:alert(1)',
      'https://APP.example',
    ]) {
      expect(isReturnOrigin(origin), origin).to.equal(false);
    }
  });

  it('always has an allowed origin', () => {
    const origins = ['https://app.example', 'http://localhost:3000'];
    const pieces = fc.array(
      fc.constantFrom(
        ...['https:', 'http:', '//', '/', '\\', 'app.example', 'evil.example', 'localhost', ':3000', ':443'],
        ...['@', '#', '?', '.', '%2f', '\t', '\n', ' ', 'x', 'javascript:', '[', ']', '\u0000', 'ä'],
      ),
      { maxLength: 10 },
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        const found = allowedReturn(parts.join(''), origins);
        if (found === undefined) return;
        const url = new URL(found);
        expect(url.href).to.equal(found);
        expect(origins).to.include(url.origin);
        expect(url.username + url.password + url.hash).to.equal('');
      }),
      { numRuns: 3_000 },
    );
    expect(allowedReturn('https://app.example/a?b=c', origins)).to.equal('https://app.example/a?b=c');
    expect(allowedReturn('https://app.example', origins)).to.equal('https://app.example/');
    expect(allowedReturn('https://app.example', [])).to.equal(undefined);
  });
});
