import { expect } from 'chai';
import { firstAdminKeyId } from '../../../application/core/privacy/key-ids.ts';
import { AdminAppointments } from '../../../application/identity/admin-appointments.ts';
import { firstAdmin } from '../../../application/identity/first-admin.ts';
import { Identity } from '../../../application/identity/identity.ts';
import { PartnerDirectory } from '../../../application/partners/partner-directory.ts';
import type { Passwords } from '../../../application/ports/passwords.ts';
import { Tenancy } from '../../../application/tenancy/tenancy.ts';
import { emailStream, reserveEmail } from '../../../domain/identity/email.ts';
import { TenantCreated } from '../../../domain/tenancy/tenant.ts';
import { rejection } from '../../support/eventually.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { memoryStores, startNode, type TestNode } from '../../support/node.ts';

const passwords: Passwords = {
  hash: async (password) => `hash of ${password}`,
  verify: async (hash, password) => hash === `hash of ${password}`,
};
const emailHash = (email: string): string => `hash-of-${email}`;
const KEY = firstAdminKeyId('acme');

const areaOf = (node: TestNode) => {
  const { streams, directory, keys } = node;
  const identity = new Identity({ streams, directory, passwords, emailHash });
  const partners = new PartnerDirectory(streams);
  const appointments = new AdminAppointments({ streams, directory, identity, passwords, emailHash });
  const tenancy = new Tenancy({ streams, directory, identity, appointments, partners, passwords, keys });
  const subscriber = firstAdmin({ identity, directory, keys });
  const handleAll = async (): Promise<void> => {
    for (const stored of await node.events.readAll({ filter: { types: subscriber.types } })) {
      await subscriber.handle(node.codec.decode(stored));
    }
  };
  return { identity, tenancy, handleAll };
};

const context = {
  cause: { actor: { kind: 'platform_admin' as const, id: 'p' }, correlationId: 'r', causationId: 'r' },
  priorAttempt: undefined,
  newId: () => 'unused',
};
const acme = {
  id: 'acme',
  name: 'Acme',
  plan: 'free' as const,
  currency: 'EUR',
  timezone: 'UTC',
  admin: { email: 'ann@example.com', password: 'a password', display_name: 'Ann' },
};

/** The tenant’s people in their streams. */
const people = async (node: TestNode) => {
  const events = await node.events.readAll({ filter: { streamPrefix: 'acme.user-' } });
  const ids = [...new Set(events.map(({ stream }) => stream.slice('acme.user-'.length)))];
  return Promise.all(
    ids.map(async (id) => {
      const user = await node.directory.user('acme', id);
      if (user === undefined) throw new Error('a stream without a user');
      return {
        email: await node.directory.open(user.email),
        name: await node.directory.open(user.displayName),
        role: user.role,
        hash: user.passwordHash === undefined ? undefined : await node.keys.open(user.passwordHash),
        events: events.filter(({ stream }) => stream.endsWith(id)).length,
      };
    }),
  );
};

const ANN = { email: 'ann@example.com', name: 'Ann', role: 'admin', hash: 'hash of a password', events: 2 };

describe('The first admin of a tenant', () => {
  // Creating a tenant makes four appends: the tenant, the reservation, the user, the claim.
  for (const [what, faults] of [
    ['right after the tenant', ['none', 'unavailable before']],
    ['after the e-mail is reserved', ['none', 'none', 'unavailable before']],
    ['after the user is registered, unnoticed', ['none', 'none', 'unavailable after']],
    ['before the e-mail is claimed', ['none', 'none', 'none', 'unavailable before']],
    ['only when all was done', []],
  ] as const satisfies readonly (readonly [string, readonly Fault[]])[]) {
    it(`is registered when the process crashed ${what}`, async () => {
      const stores = memoryStores();
      const dying = startNode({ ...stores, events: faultyEvents(stores.events, faults) });
      const creating = areaOf(dying).tenancy.create(acme, context);
      if (faults.length > 0) await rejection(creating);
      else await creating;
      expect((await startNode(stores).directory.tenant('acme'))?.name).to.equal('Acme');

      const next = startNode(stores);
      const { handleAll } = areaOf(next);
      await handleAll();
      expect(await people(next)).to.deep.equal([ANN]);
      expect(stores.keyStore.wrapped.get(KEY)).to.equal('destroyed');
      await handleAll();
      expect(await people(next)).to.deep.equal([ANN]);
    });
  }

  it('keeps the id of the first try when the request is repeated', async () => {
    const stores = memoryStores();
    const dying = startNode({
      ...stores,
      events: faultyEvents(stores.events, ['none', 'unavailable before']),
    });
    await rejection(areaOf(dying).tenancy.create(acme, { ...context, newId: () => 'the-first-try' }));
    const node = startNode(stores);
    const { tenancy, handleAll } = areaOf(node);
    const priorAttempt = { since: 0 };
    await tenancy.create(acme, { ...context, priorAttempt, newId: () => 'the-second-try' });
    await handleAll();
    expect(await people(node)).to.deep.equal([ANN]);
    expect((await node.directory.user('acme', 'the-first-try'))?.role).to.equal('admin');
    expect(await node.directory.user('acme', 'the-second-try')).to.equal(undefined);
  });

  it('is registered once by a concurrent request and subscriber', async () => {
    const stores = memoryStores();
    const node = startNode(stores);
    const { tenancy, handleAll } = areaOf(node);
    const other = areaOf(startNode(stores));
    const creating = tenancy.create(acme, context);
    await Promise.all([creating, ...[1, 2, 3].map(() => handleAll().then(other.handleAll))]);
    await handleAll();
    expect(await people(startNode(stores))).to.deep.equal([ANN]);
  });

  it('is readable in events only with the person’s own key once registered', async () => {
    const stores = memoryStores();
    const node = startNode(stores);
    const { tenancy, handleAll } = areaOf(node);
    await tenancy.create(acme, context);
    const [stored] = await stores.events.readAll({ filter: { types: [TenantCreated.type] } });
    if (stored === undefined) throw new Error('no tenant');
    for (const text of ['ann@example.com', '"Ann"', 'hash of']) expect(stored.data).not.to.contain(text);
    await handleAll();
    for (const reader of [node, startNode(stores)]) {
      const { admin_email } = TenantCreated.schema.parse(JSON.parse(stored.data));
      expect(await reader.directory.open(admin_email ?? '')).to.equal('[erased]');
    }
  });

  it('has no key when a tenant is created without an admin, or refused because it exists', async () => {
    const keyStore = memoryKeyStore();
    const node = startNode({ keyStore });
    const { tenancy, handleAll } = areaOf(node);
    const { admin: _admin, ...alone } = acme;
    await tenancy.create(alone, context);
    await rejection(tenancy.create(acme, context));
    await handleAll();
    expect(await people(node)).to.deep.equal([]);
    expect([...keyStore.wrapped.keys()]).to.deep.equal([]);
  });

  it('is not registered when another person with the same e-mail came first', async () => {
    const stores = memoryStores();
    const dying = startNode({
      ...stores,
      events: faultyEvents(stores.events, ['none', 'unavailable before']),
    });
    await rejection(areaOf(dying).tenancy.create(acme, context));
    const node = startNode(stores);
    await node.commands.execute({
      tenantId: 'acme',
      type: emailStream,
      id: emailHash(acme.admin.email),
      cause: context.cause,
      decide: (state, at) =>
        reserveEmail(state, { email_hash: emailHash(acme.admin.email), user_id: 'somebody' }, at),
    });
    await areaOf(node).handleAll();
    expect(await people(node)).to.deep.equal([]);
    expect(stores.keyStore.wrapped.get(KEY)).to.equal('destroyed');
  });
});
