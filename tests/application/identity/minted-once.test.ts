import { expect } from 'chai';
import type { UserPrincipal } from '../../../application/core/commands/principal.ts';
import { ApiTokens } from '../../../application/identity/api-tokens.ts';
import {
  tenantTokenClaims,
  tenantTokenLifetime,
} from '../../../application/identity/authentication-claims.ts';
import { Impersonation } from '../../../application/identity/impersonation.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { registerUser, userStream } from '../../../domain/identity/user.ts';
import { createTenant, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { randomTokenSecrets } from '../../../infrastructure/identity/token-secrets.ts';
import { tokenFamily } from '../../../infrastructure/identity/tokens.ts';
import { causeOf, keyedContext as keyed } from '../../support/book.ts';
import { testClock } from '../../support/fakes.ts';
import { memoryStores, type SharedStores, startNode } from '../../support/node.ts';

const MIDNIGHT = Date.UTC(2026, 0, 2);
const ada: UserPrincipal = {
  kind: 'user',
  tenantId: 'acme',
  rights: { plan: 'free', entitlements: { ledger: false, assistant: false } },
  userId: 'ada',
  email: 'ada@example.com',
  role: 'admin',
  impersonatedBy: undefined,
  tokenUse: undefined,
};

const nodeAt = (stores: SharedStores, now: number) => {
  const clock = testClock(now);
  const node = startNode({ ...stores, clock });
  const family = tokenFamily(['k'.repeat(40)], tenantTokenClaims, tenantTokenLifetime, clock);
  const apiTokens = new ApiTokens({
    streams: node.streams,
    secrets: randomTokenSecrets,
    tenantTokens: family,
  });
  const impersonation = new Impersonation({
    ...node,
    tenantTokens: family,
    adminsByCreation: async function* () {},
  });
  return {
    ...node,
    clock,
    family,
    test: async (name: string) => (await apiTokens.mintTest(ada, keyed(name))).token,
    impersonate: async (name: string) => {
      const wanted = { userId: 'ada' };
      return (await impersonation.start('acme', wanted, 'root@platform.example', keyed(name))).token;
    },
  };
};

const tenantWithAda = async (now: number): Promise<SharedStores> => {
  const stores = memoryStores();
  const { commands } = startNode({ ...stores, clock: testClock(now) });
  await commands.execute({
    tenantId: PLATFORM,
    type: tenantStream,
    id: 'acme',
    cause: causeOf('tenant'),
    decide: (state) =>
      createTenant(state, {
        tenantId: 'acme',
        name: 'acme',
        plan: 'free',
        partner_id: null,
        entitlements: { ledger: false, assistant: false },
        currency: 'EUR',
        timezone: 'UTC',
      }),
  });
  const { userId, email, role } = ada;
  await commands.execute({
    tenantId: 'acme',
    type: userStream,
    id: userId,
    cause: causeOf('user'),
    decide: (state) => registerUser(state, { userId, email, displayName: 'Ada', role, origin: 'admin' }),
  });
  return stores;
};

for (const [what, how, type] of [
  ['a test token', 'test', 'ApiTestTokenGenerated'],
  ['an impersonation', 'impersonate', 'ImpersonationStarted'],
] as const) {
  describe(`One keyed request for ${what}`, () => {
    const recorded = async (stores: SharedStores): Promise<number> =>
      (await stores.events.readAll({ filter: { types: [type] } })).length;

    it('makes one event and one token on two concurrent nodes whose clocks differ, also around midnight', async () => {
      for (const apart of [0, 900, 2500, -2500]) {
        const stores = await tenantWithAda(MIDNIGHT - 60_000);
        const nodes = [nodeAt(stores, MIDNIGHT - 1), nodeAt(stores, MIDNIGHT - 1 + apart)] as const;
        const tokens = await Promise.all(nodes.map((node) => node[how]('one')));
        expect(new Set(tokens).size, `${apart} ms apart`).to.equal(1);
        expect(await recorded(stores)).to.equal(1);
        for (const { family } of nodes) expect(family.verify(tokens[0] ?? '')).to.include({ sub: 'ada' });
      }
    });

    it('makes the same token when retried later on another node', async () => {
      const stores = await tenantWithAda(MIDNIGHT - 60_000);
      const first = await nodeAt(stores, MIDNIGHT - 1000)[how]('one');
      const later = nodeAt(stores, MIDNIGHT + 5000);
      expect(await later[how]('one')).to.equal(first);
      expect(await recorded(stores)).to.equal(1);
      expect(await later[how]('another'), 'another request').not.to.equal(first);
      expect(await recorded(stores)).to.equal(2);
    });

    it('makes a token that starts with its event and is valid for an hour', async () => {
      const node = nodeAt(await tenantWithAda(MIDNIGHT), MIDNIGHT + 7900);
      const { iat, exp } = node.family.verify(await node[how]('one'));
      expect([iat, exp - iat]).to.deep.equal([MIDNIGHT / 1000 + 7, 3600]);
    });
  });
}
