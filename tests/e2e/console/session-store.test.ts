import { expect } from 'chai';
import {
  getSessions,
  type PlatformSession,
  presentToken,
  SignedOut,
  signIn,
  signOut,
  type TenantSession,
} from '../../../console/src/session/store.ts';
import { rejection } from '../../support/eventually.ts';

const HOUR_MS = 3_600_000;

const platform = (token: string): PlatformSession => ({
  kind: 'platform',
  token,
  email: 'root@platform.example',
  expiresAt: Date.now() + HOUR_MS,
});

/** A session of a tenant as which the platform's admin acts. */
const impersonation = (token: string): TenantSession => ({
  kind: 'tenant',
  token,
  email: 'ada@acme.example',
  expiresAt: Date.now() + HOUR_MS,
  tenantId: 'acme',
  userId: 'ada',
  role: 'admin',
  via: 'impersonation',
  impersonatedBy: 'root@platform.example',
});

describe('The sessions of the Console', () => {
  beforeEach(() => {
    signIn(platform('p1'));
    signIn(impersonation('t1'));
  });
  afterEach(() => signOut());

  it('renews an ended platform session before the ended impersonation', async () => {
    const tenant = presentToken(impersonation('t1'), 't1');
    expect(getSessions().ended?.kind).to.equal('tenant');
    const platformToken = presentToken(platform('p1'), 'p1');
    expect(getSessions().ended?.kind).to.equal('platform');
    signIn(platform('p2'));
    expect(await platformToken).to.equal('p2');
    expect(getSessions().ended?.kind).to.equal('tenant');
    signIn(impersonation('t2'));
    expect(await tenant).to.equal('t2');
    expect(getSessions().ended).to.equal(undefined);
  });

  it('keeps requests of the platform waiting when the ended session of a tenant is signed out', async () => {
    const refused = rejection(presentToken(impersonation('t1'), 't1'));
    const platformToken = presentToken(platform('p1'), 'p1');
    signOut('tenant');
    expect(await refused).to.be.instanceOf(SignedOut);
    signIn(platform('p2'));
    expect(await platformToken).to.equal('p2');
  });

  it('fails the requests of each session when all sessions end', async () => {
    const refused = [
      rejection(presentToken(impersonation('t1'), 't1')),
      rejection(presentToken(platform('p1'), 'p1')),
    ];
    signOut();
    for (const error of await Promise.all(refused)) expect(error).to.be.instanceOf(SignedOut);
    expect(getSessions().ended).to.equal(undefined);
  });

  it('fails the requests of one person when another one signs in', async () => {
    const refused = rejection(presentToken(impersonation('t1'), 't1'));
    signIn({ ...impersonation('t2'), userId: 'ben' });
    expect(await refused).to.be.instanceOf(SignedOut);
    expect(await presentToken({ ...impersonation('t2'), userId: 'ben' })).to.equal('t2');
  });

  it('gives requests of one person or tenant no token of another', async () => {
    signOut('tenant');
    signIn({ ...impersonation('t2'), tenantId: 'umbrella' });
    for (const refused of [undefined, 't1']) {
      const error = await rejection(presentToken(impersonation('t1'), refused));
      expect(error).to.be.instanceOf(SignedOut);
    }
  });
});
