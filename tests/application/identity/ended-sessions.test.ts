import { expect } from 'chai';
import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import { Extensions } from '../../../application/extensions/extensions.ts';
import { Authentication } from '../../../application/identity/authentication.ts';
import {
  platformClaims,
  type TenantClaims,
  tenantTokenClaims,
  tenantTokenLifetime,
} from '../../../application/identity/authentication-claims.ts';
import { Identity } from '../../../application/identity/identity.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { extensionStream } from '../../../domain/extensions/extension.ts';
import { registerUser, replacePassword, userStream } from '../../../domain/identity/user.ts';
import { createTenant, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { tokenFamily } from '../../../infrastructure/identity/tokens.ts';
import { causeOf } from '../../support/book.ts';
import { refusalCode } from '../../support/eventually.ts';
import { testClock } from '../../support/fakes.ts';
import { memoryStores, type SharedStores, startNode } from '../../support/node.ts';

const NOON = Date.UTC(2026, 0, 2, 12);
const CLAIMS: TenantClaims = { sub: 'ann', email: 'ann@example.com', tenant_id: 'acme', role: 'admin' };

const nodeAt = (stores: SharedStores, now: number) => {
  const clock = testClock(now);
  const node = startNode({ ...stores, clock });
  const no = (): never => {
    throw new Error('not of this test');
  };
  const tokens = tokenFamily(['k'.repeat(40)], tenantTokenClaims, tenantTokenLifetime, clock);
  const passwords = { hash: async (password: string) => password, verify: async () => false };
  const authentication = new Authentication({
    ...{ tenantTokens: tokens, directory: node.directory, ids: node.ids },
    platformTokens: tokenFamily(['p'.repeat(40)], platformClaims, () => 3600, clock),
    identity: new Identity({ ...node, passwords, emailHash: (email) => email }),
    ...{ apiTokens: { authenticate: no }, partner: no, answered: () => undefined },
  });
  const context = (): RequestContext => ({
    cause: causeOf(node.ids.next()),
    priorAttempt: undefined,
    newId: () => node.ids.next(),
  });
  return {
    ...node,
    context,
    extensions: new Extensions({ streams: node.streams, tokens }),
    check: (token: string) => authentication.authenticate(token, 'tenant'),
    signIn: (session?: number) =>
      tokens.sign({ ...CLAIMS, ...(session === undefined ? {} : { session }) }, 3600),
    endSessions: () =>
      node.streams.of(userStream, 'acme', 'ann').execute(context(), (user) => {
        if (!user.exists) throw new Error('no user');
        return replacePassword(user, 'hash');
      }),
  };
};

/** The tenant acme with Ann. */
const acme = async (): Promise<SharedStores> => {
  const stores = memoryStores();
  const { streams, context } = nodeAt(stores, NOON - 60_000);
  await streams.of(tenantStream, PLATFORM, 'acme').execute(context(), (state) =>
    createTenant(state, {
      ...{ tenantId: 'acme', name: 'Acme', plan: 'free', partner_id: null, currency: 'EUR', timezone: 'UTC' },
      entitlements: { ledger: false, assistant: false },
    }),
  );
  await streams.of(userStream, 'acme', 'ann').execute(context(), (state) =>
    registerUser(state, {
      ...{
        userId: 'ann',
        email: 'sealed',
        displayName: 'sealed',
        role: 'admin',
        passwordHash: 'hash',
        origin: 'admin',
      },
    }),
  );
  return stores;
};

describe('A session', () => {
  it('ends with a password set in the second of its sign-in, or at a node whose clock is behind', async () => {
    for (const ahead of [0, 500, 30_000]) {
      const stores = await acme();
      const [first, second] = [nodeAt(stores, NOON + ahead), nodeAt(stores, NOON)];
      const session = first.signIn(0);
      expect(await first.check(session)).to.include({ userId: 'ann' });
      await second.endSessions();
      const next = second.signIn(1);
      for (const node of [second, nodeAt(stores, NOON + ahead)]) {
        expect(await refusalCode(node.check(session)), `${ahead} ms ahead`).to.equal('invalid_credential');
        expect(await node.check(next)).to.include({ userId: 'ann' });
      }
    }
  });

  it('that began with a new password is accepted at a node that has not seen the change yet', async () => {
    const stores = await acme();
    const [first, second] = [nodeAt(stores, NOON), nodeAt(stores, NOON)];
    await first.check(first.signIn(0));
    await second.endSessions();
    expect(await first.check(second.signIn(1))).to.include({ userId: 'ann' });
  });

  it('whose token has no session count, such as one of another issuer, ends by its time of issue', async () => {
    const stores = await acme();
    const [before, node] = [nodeAt(stores, NOON - 5_000), nodeAt(stores, NOON)];
    const session = before.signIn();
    await node.endSessions();
    expect(await refusalCode(node.check(session))).to.equal('invalid_credential');
    expect(await node.check(nodeAt(stores, NOON + 5_000).signIn())).to.include({ userId: 'ann' });
  });
});

describe('A token of an extension', () => {
  it('is accepted at once at a node that has cached the extension as inactive', async () => {
    const stores = await acme();
    const [first, second] = [nodeAt(stores, NOON), nodeAt(stores, NOON)];
    const manifest = { extId: 'crm', name: 'CRM', version: '1', url: null, createdBy: 'ann' } as const;
    await first.extensions.install('acme', { ...manifest, scopes: ['data:read'] }, first.context());
    const known = second.streams.of(extensionStream, 'acme', 'crm');
    await known.refresh();
    expect(known.cached()?.state).to.include({ state: 'inactive' });
    await first.extensions.activate('acme', 'crm', first.context());
    const person = await first.check(first.signIn(0));
    if (person.kind !== 'user') throw new Error('no person');
    const { token } = await first.extensions.mintToken(person, 'crm', first.context());
    await second.check(second.signIn(0));
    expect(await second.check(token)).to.include({ kind: 'extension', extId: 'crm' });
  });
});
