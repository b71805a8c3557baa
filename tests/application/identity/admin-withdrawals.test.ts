import { expect } from 'chai';
import fc from 'fast-check';
import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import { Erasures } from '../../../application/core/privacy/erasures.ts';
import { adminWithdrawal } from '../../../application/identity/admin-withdrawals.ts';
import { Forgetting } from '../../../application/identity/forgetting.ts';
import { Identity } from '../../../application/identity/identity.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { rejection, severalTicks } from '../../support/eventually.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { memoryStores, startNode, type TestNode } from '../../support/node.ts';

const passwords = {
  hash: async (password: string) => `hash of ${password}`,
  verify: async (hash: string | undefined, password: string) => hash === `hash of ${password}`,
};
const emailHash = (email: string): string => `hash-of-${email}`;
const ENDS = ['demote', 'deactivate', 'forget'] as const;
type End = (typeof ENDS)[number];

let requests = 0;
const context = (by: string, own: Partial<RequestContext> = {}): RequestContext => {
  requests += 1;
  const id = `request-${requests}`;
  return {
    cause: { actor: { kind: 'user', id: by }, correlationId: id, causationId: id },
    priorAttempt: undefined,
    newId: () => 'unused',
    ...own,
  };
};

const areaOf = (node: TestNode) => {
  const { streams, directory } = node;
  const erasures = new Erasures({ ...node, store: node.keyStore });
  const identity = new Identity({ streams, directory, passwords, emailHash });
  const forgetting = new Forgetting({ streams, directory, erasures, emailHash });
  const subscriber = adminWithdrawal({ streams, directory, emailHash });
  return {
    identity,
    end: (by: string, userId: string, how: End, as = context(by)): Promise<unknown> => {
      switch (how) {
        case 'demote':
          return identity.changeUser('acme', userId, { role: 'operator' }, by, as);
        case 'deactivate':
          return identity.changeUser('acme', userId, { status: 'deactivated' }, by, as);
        case 'forget':
          return forgetting.forget('acme', userId, by, as);
        default:
          return how satisfies never;
      }
    },
    /** Delivers every withdrawal of the log to the subscriber, as after a restart. */
    finish: async (): Promise<void> => {
      for (const stored of await node.events.readAll({ filter: { types: subscriber.types } })) {
        await subscriber.handle(node.codec.decode(stored));
      }
    },
  };
};

/** Stores in the state that a version without withdrawals leaves: admins have only the events of their own streams. */
const withAdmins = async (...ids: readonly string[]) => {
  const stores = memoryStores();
  const { identity } = areaOf(startNode(stores));
  for (const id of ids) {
    const user = { id, email: `${id}@example.com`, displayName: id, role: 'admin' } as const;
    await identity.createUser('acme', user, context('system'));
  }
  return stores;
};

const adminsIn = async (stores: ReturnType<typeof memoryStores>, ids: readonly string[]) => {
  const { directory } = startNode(stores);
  const users = await Promise.all(ids.map((id) => directory.user('acme', id)));
  return users.flatMap((user) => (user?.role === 'admin' && user.status === 'active' ? [user.id] : []));
};

describe('Concurrent withdrawals of admins', () => {
  it('leave at least one admin with any operations on two nodes in any order', async () => {
    const IDS = ['ann', 'ben', 'cy'] as const;
    const id = fc.constantFrom(...IDS);
    const step = fc.record({ by: id, user: id, how: fc.constantFrom(...ENDS), node: fc.nat(1) });
    const back = fc.record({ by: id, user: id, how: fc.constant('promote' as const), node: fc.nat(1) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof({ weight: 3, arbitrary: step }, { weight: 1, arbitrary: back }), {
          minLength: 2,
          maxLength: 6,
        }),
        fc.array(fc.nat(20), { minLength: 5, maxLength: 5 }),
        async (steps, delays) => {
          const stores = await withAdmins(...IDS);
          let nth = 0;
          const slow = (): EventStore => ({
            ...stores.events,
            append: async (...args) => {
              await severalTicks(delays[nth++ % delays.length]);
              return stores.events.append(...args);
            },
          });
          const nodes = [0, 1].map(() => areaOf(startNode({ ...stores, events: slow() })));
          const answers = await Promise.allSettled(
            steps.map(({ by, user, how, node }) => {
              const area = nodes[node];
              if (area === undefined) throw new Error('two nodes');
              if (how !== 'promote') return area.end(by, user, how);
              const change = { role: 'admin', status: 'active' } as const;
              return area.identity.changeUser('acme', user, change, by, context(by));
            }),
          );
          for (const answer of answers) {
            if (answer.status === 'rejected') expect(answer.reason).to.be.instanceOf(DomainError);
          }
          expect(await adminsIn(stores, IDS)).not.to.deep.equal([]);
          await areaOf(startNode(stores)).finish();
          expect(await adminsIn(stores, IDS)).not.to.deep.equal([]);
        },
      ),
      { numRuns: 300 },
    );
  }).timeout(60_000);

  for (const how of ENDS) {
    it(`refuse the second of two who ${how} each other`, async () => {
      const stores = await withAdmins('ann', 'ben');
      const [one, two] = [areaOf(startNode(stores)), areaOf(startNode(stores))];
      const answers = await Promise.allSettled([one.end('ann', 'ben', how), two.end('ben', 'ann', how)]);
      expect(answers.map(({ status }) => status).toSorted()).to.deep.equal(['fulfilled', 'rejected']);
      const refused = answers.find((answer) => answer.status === 'rejected');
      expect(refused?.reason).to.include({ code: 'conflict' });
      expect(await adminsIn(stores, ['ann', 'ben'])).to.have.length(1);
    });

    const CRASHES: readonly (readonly [string, readonly Fault[]])[] = [
      ['after the withdrawal, unnoticed', ['unavailable after']],
      ['before the change of the user', ['none', 'unavailable before']],
      ['after the change of the user, unnoticed', ['none', 'unavailable after']],
    ];
    for (const [what, faults] of CRASHES) {
      for (const by of ['a restart', 'the same request', 'another admin'] as const) {
        it(`are completed by ${by} when the process crashed ${what} (${how})`, async () => {
          const stores = await withAdmins('ann', 'ben', 'cy');
          const dying = areaOf(startNode({ ...stores, events: faultyEvents(stores.events, faults) }));
          const as = context('ann');
          await rejection(dying.end('ann', 'ben', how, as));
          const next = areaOf(startNode(stores));
          // An admin with withdrawn rights cannot withdraw others, even before the user's event is appended.
          expect(await rejection(next.end('ben', 'ann', how))).to.include({ code: 'conflict' });
          if (by === 'a restart') await next.finish();
          else if (by === 'another admin') await next.end('cy', 'ben', how);
          else await next.end('ann', 'ben', how, { ...as, priorAttempt: { since: 0 } });
          expect(await adminsIn(stores, ['ann', 'ben', 'cy'])).to.deep.equal(['ann', 'cy']);
          await next.finish();
          expect(await adminsIn(stores, ['ann', 'ben', 'cy'])).to.deep.equal(['ann', 'cy']);
          const withdrawals = await stores.events.readAll({ filter: { types: ['AdminWithdrawn'] } });
          expect(withdrawals).to.have.length(1);
        });
      }
    }
  }

  it('do not undo a later promotion by a repeated request or event', async () => {
    const stores = await withAdmins('ann', 'ben');
    const area = areaOf(startNode(stores));
    const as = context('ann');
    await area.end('ann', 'ben', 'demote', as);
    await area.identity.changeUser('acme', 'ben', { role: 'admin' }, 'ann', context('ann'));
    await area.finish();
    await area.end('ann', 'ben', 'demote', { ...as, priorAttempt: { since: 0 } });
    expect(await adminsIn(stores, ['ann', 'ben'])).to.deep.equal(['ann', 'ben']);
    await area.end('ben', 'ann', 'demote');
    expect(await adminsIn(stores, ['ann', 'ben'])).to.deep.equal(['ben']);
  });
});
