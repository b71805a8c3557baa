import { expect } from 'chai';
import type { UserPrincipal } from '../../../application/core/commands/principal.ts';
import { Extensions } from '../../../application/extensions/extensions.ts';
import { Authentication } from '../../../application/identity/authentication.ts';
import {
  platformClaims,
  tenantTokenClaims,
  tenantTokenLifetime,
} from '../../../application/identity/authentication-claims.ts';
import { Identity } from '../../../application/identity/identity.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { createTenant, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { tokenFamily } from '../../../infrastructure/identity/tokens.ts';
import { causeOf } from '../../support/book.ts';
import { refusalCode } from '../../support/eventually.ts';
import { testClock } from '../../support/fakes.ts';
import { memoryStores, startNode } from '../../support/node.ts';

const KEY = 'a key of the tests, which is long enough';

/** Tenant acme with the active extension `crm`; Ann, an admin, is not registered yet. */
const world = async () => {
  const stores = memoryStores();
  let reads = 0;
  const events: EventStore = {
    ...stores.events,
    readStream: (...args) => {
      reads += 1;
      return stores.events.readStream(...args);
    },
  };
  const clock = testClock();
  const node = startNode({ ...stores, events, clock });
  const tenantTokens = tokenFamily([KEY], tenantTokenClaims, tenantTokenLifetime, clock);
  const platformTokens = tokenFamily([`${KEY}!`], platformClaims, () => 3600, clock);
  const identity = new Identity({
    ...node,
    passwords: { hash: async (password) => password, verify: async () => false },
    emailHash: (email) => `hash-of-${email}`,
  });
  const no = () => {
    throw new Error('not of this test');
  };
  const authentication = new Authentication({
    ...{ tenantTokens, platformTokens, identity, directory: node.directory, ids: node.ids },
    ...{ apiTokens: { authenticate: no }, partner: no, answered: () => undefined },
  });
  await node.commands.execute({
    tenantId: PLATFORM,
    type: tenantStream,
    id: 'acme',
    cause: causeOf('tenant'),
    decide: (state) =>
      createTenant(state, {
        tenantId: 'acme',
        name: 'Acme',
        plan: 'free',
        partner_id: null,
        entitlements: { ledger: false, assistant: false },
        currency: 'EUR',
        timezone: 'UTC',
      }),
  });
  const extensions = new Extensions({ streams: node.streams, tokens: tenantTokens });
  const context = () => ({
    cause: causeOf(node.ids.next()),
    priorAttempt: undefined,
    newId: () => node.ids.next(),
  });
  const manifest = { extId: 'crm', name: 'CRM', version: '1', url: null, createdBy: 'ann' } as const;
  await extensions.install('acme', { ...manifest, scopes: ['data:read'] }, context());
  await extensions.activate('acme', 'crm', context());
  const ann = { sub: 'ann', email: 'ann@example.com', tenant_id: 'acme', role: 'admin' } as const;
  const principal: UserPrincipal = {
    kind: 'user',
    tenantId: 'acme',
    rights: { plan: 'free', entitlements: { ledger: false, assistant: false } },
    userId: 'ann',
    email: 'ann@example.com',
    role: 'admin',
  };
  const session = tenantTokens.sign(ann, 3600);
  const check = (token: string) => authentication.authenticate(token, 'tenant');
  const load = async () => (await extensions.mintToken(principal, 'crm', context())).token;
  return { check, session, load, extensions, context, clock, manifest, reads: () => reads };
};

describe('Signed tokens', () => {
  it('of sessions and extensions are checked without a store read once cached', async () => {
    const { check, session, load, reads } = await world();
    const loaded = await load();
    await check(session);
    await check(loaded);
    const before = reads();
    for (let i = 0; i < 100; i += 1) {
      for (const token of [session, loaded]) await check(token);
    }
    expect(reads()).to.equal(before);
    expect(await check(loaded)).to.deep.include({ kind: 'extension', extId: 'crm', scopes: ['data:read'] });
  });

  it('of an extension are invalid once it is deactivated, also after a quick reactivation', async () => {
    const { check, load, extensions, context, manifest } = await world();
    // The clock stands still: all of this happens within one second.
    const first = await load();
    await check(first);
    await extensions.deactivate('acme', 'crm', context());
    expect(await refusalCode(check(first))).to.equal('invalid_credential');
    await extensions.activate('acme', 'crm', context());
    expect(await refusalCode(check(first))).to.equal('invalid_credential');
    const second = await load();
    await check(second);
    await extensions.uninstall('acme', 'crm', context());
    await extensions.install('acme', { ...manifest, scopes: ['admin:*'] }, context());
    await extensions.activate('acme', 'crm', context());
    for (const token of [first, second]) {
      expect(await refusalCode(check(token))).to.equal('invalid_credential');
    }
    expect(await check(await load())).to.deep.include({ kind: 'extension', scopes: ['admin:*'] });
  });

  it('of an extension are as old as the first token when a retried keyed request mints them again', async () => {
    const { check, extensions, context, session } = await world();
    const person = await check(session);
    if (person.kind !== 'user') throw new Error('no person');
    const cause = causeOf('keyed');
    await extensions.mintToken(person, 'crm', { ...context(), cause });
    await extensions.deactivate('acme', 'crm', context());
    await extensions.activate('acme', 'crm', context());
    const { token } = await extensions.mintToken(person, 'crm', {
      ...context(),
      cause,
      priorAttempt: { since: 0 },
    });
    expect(await refusalCode(check(token))).to.equal('invalid_credential');
  });
});
