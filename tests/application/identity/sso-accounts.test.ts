import { expect } from 'chai';
import fc from 'fast-check';
import { SsoAccounts } from '../../../application/identity/sso-accounts.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { type ProvidedIdentity, SignInRefused } from '../../../application/ports/sso-provider.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { emailStream, RESERVATION_MS, reserveEmail } from '../../../domain/identity/email.ts';
import { userStream } from '../../../domain/identity/user.ts';
import { testClock } from '../../support/fakes.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { memoryStores, type SharedStores, startNode } from '../../support/node.ts';

const emailHash = (email: string): string => `hash-of-${email.toLowerCase()}`;
const context = {
  cause: { actor: { kind: 'system' as const, id: 'sign-on' }, correlationId: 'c', causationId: 'c' },
  priorAttempt: undefined,
  newId: () => 'unused',
};

const ann: ProvidedIdentity = {
  issuer: 'https://login.example',
  subject: 'ann',
  email: 'ann@corp.example',
  emailVerified: true,
  name: 'Ann',
};

/** A node after a start, with empty caches. */
const nodeOn = (stores: SharedStores, faults: readonly Fault[] = [], clock: Clock = testClock()) => {
  const node = startNode({ ...stores, events: faultyEvents(stores.events, faults), clock });
  const { streams, directory } = node;
  const identityHash = (issuer: string, subject: string): string => `${issuer.length}x${subject}`;
  const accounts = new SsoAccounts({ streams, directory, emailHash, identityHash });
  return { ...node, accounts };
};

const enter = async (node: ReturnType<typeof nodeOn>, identity: ProvidedIdentity): Promise<string> =>
  (await node.accounts.accountOf('acme', identity, context)).user.id;

const registrations = async (stores: SharedStores): Promise<number> =>
  (await stores.events.readAll({ filter: { types: ['UserRegistered'] } })).length;

describe('The account of a person signing in at a provider', () => {
  it('is created once with its e-mail after a crash of the first sign-in at any step', async () => {
    const fault = fc.constantFrom<Fault>('none', 'lost race', 'unavailable before', 'unavailable after');
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 6 }), async (faults) => {
        const stores = memoryStores();
        await enter(nodeOn(stores, faults), ann).catch(() => 'cut off');
        const node = nodeOn(stores);
        const id = await enter(node, ann);
        expect(await enter(nodeOn(stores), { ...ann, email: undefined })).to.equal(id);
        expect(await registrations(stores)).to.equal(1);
        const holder = (await node.states.load('acme', emailStream, emailHash('ann@corp.example'))).state;
        expect(holder).to.deep.equal({ status: 'claimed', userId: id });
      }),
      { numRuns: 60 },
    );
  });

  it('is created once for concurrent sign-ins on any nodes', async () => {
    const stores = memoryStores();
    const nodes = [nodeOn(stores), nodeOn(stores), nodeOn(stores)];
    const ids = await Promise.all([...nodes, ...nodes, ...nodes].map((node) => enter(node, ann)));
    expect(new Set(ids).size).to.equal(1);
    expect(await registrations(stores)).to.equal(1);
    const links = await stores.events.readAll({ filter: { types: ['SsoIdentityLinked'] } });
    expect(links).to.have.length(1);
  });

  it('is shared by concurrent identities with one verified e-mail', async () => {
    const stores = memoryStores();
    const other = { ...ann, subject: 'ann-at-work' };
    const attempt = async (identity: ProvidedIdentity): Promise<string> => {
      // While the other account is created, the sign-in fails with 503 and is retried.
      for (let tries = 0; tries < 50; tries += 1) {
        try {
          return await enter(nodeOn(stores), identity);
        } catch (error) {
          if (!(error instanceof DomainError && error.code === 'unavailable')) throw error;
        }
      }
      throw new Error('it never came to an end');
    };
    const ids = await Promise.all([ann, other, ann, other].map(attempt));
    expect(new Set(ids).size).to.equal(1);
    expect(await registrations(stores)).to.equal(1);
  });

  it('is neither used nor linked while it is deactivated', async () => {
    const stores = memoryStores();
    const node = nodeOn(stores);
    const userId = await enter(node, ann);
    const status = {
      type: 'UserStatusChanged' as const,
      data: { user_id: userId, status: 'deactivated' as const },
    };
    await node.commands.execute({
      tenantId: 'acme',
      type: userStream,
      id: userId,
      cause: context.cause,
      decide: () => [status],
    });
    for (const emailVerified of [true, false]) {
      for (const subject of ['ann', 'another']) {
        const refused = await enter(node, { ...ann, subject, emailVerified }).catch(
          (error: unknown) => error,
        );
        expect(refused).to.be.instanceOf(SignInRefused);
      }
    }
    const links = await stores.events.readAll({ filter: { types: ['SsoIdentityLinked'] } });
    expect(links).to.have.length(1);
    expect(await registrations(stores)).to.equal(1);
  });

  it('does not hold an unverified e-mail', async () => {
    const stores = memoryStores();
    const node = nodeOn(stores);
    const id = await enter(node, { ...ann, emailVerified: false });
    const holder = (await node.states.load('acme', emailStream, emailHash('ann@corp.example'))).state;
    expect(holder).to.deep.equal({ status: 'free' });
    expect(await enter(node, { ...ann, subject: 'true ann' })).not.to.equal(id);
    expect(await enter(node, ann), 'the link stays').to.equal(id);
  });

  it('is not created with an unverified e-mail that another user holds, also if claimed at another node', async () => {
    const stores = memoryStores();
    const node = nodeOn(stores);
    const unverified = { ...ann, subject: 'mallory', emailVerified: false };
    // This node caches a state of the e-mail before the other node's sign-in.
    await node.states.load('acme', emailStream, emailHash('ann@corp.example'));
    await enter(nodeOn(stores), ann);
    for (const email of ['ann@corp.example', 'Ann@CORP.example']) {
      const refused = await enter(node, { ...unverified, email }).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(SignInRefused);
    }
    expect(await registrations(stores)).to.equal(1);
    expect(await stores.events.readAll({ filter: { types: ['SsoIdentityLinked'] } })).to.have.length(1);
  });

  it('is created under an unverified e-mail only after the reservation of the e-mail expired', async () => {
    const stores = memoryStores();
    const clock = testClock();
    const node = nodeOn(stores, [], clock);
    await node.commands.execute({
      tenantId: 'acme',
      type: emailStream,
      id: emailHash('ann@corp.example'),
      cause: context.cause,
      decide: (state, at) => reserveEmail(state, { email_hash: 'h', user_id: 'somebody' }, at),
    });
    const unverified = { ...ann, emailVerified: false };
    clock.advance(RESERVATION_MS - 1);
    const early = await enter(node, unverified).catch((error: unknown) => error);
    expect(early).to.be.instanceOf(SignInRefused);
    clock.advance(1);
    await enter(node, unverified);
    expect(await registrations(stores)).to.equal(1);
  });

  it('stays linked when the provider no longer verifies its e-mail', async () => {
    const stores = memoryStores();
    const id = await enter(nodeOn(stores), ann);
    expect(await enter(nodeOn(stores), { ...ann, emailVerified: false })).to.equal(id);
  });

  it('has a name that can be stored', async () => {
    for (const [name, wanted] of [
      ['  Ann  ', 'Ann'],
      ['   ', 'ann'],
      [undefined, 'ann'],
      ['a\u0000b', 'ann'],
      ['\ud800', 'ann'],
      ['😀'.repeat(300), '😀'.repeat(200)],
    ] as const) {
      const node = nodeOn(memoryStores());
      const { user } = await node.accounts.accountOf('acme', { ...ann, name }, context);
      expect(await node.keys.open(user.displayName)).to.equal(wanted);
      expect(user.role).to.equal('operator');
    }
  });

  it('is not created without an e-mail', async () => {
    const stores = memoryStores();
    for (const email of [undefined, '', 'x', `${'x'.repeat(320)}@a.example`]) {
      const refused = await enter(nodeOn(stores), { ...ann, email }).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(SignInRefused);
    }
    expect(await registrations(stores)).to.equal(0);
  });
});
