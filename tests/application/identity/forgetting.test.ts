import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import { eraser } from '../../../application/core/privacy/eraser.ts';
import { Erasures, MARK } from '../../../application/core/privacy/erasures.ts';
import { emailClaimer, emailReleaser } from '../../../application/identity/email-claims.ts';
import { Forgetting } from '../../../application/identity/forgetting.ts';
import { Identity } from '../../../application/identity/identity.ts';
import { type EventStore, StoreUnavailable } from '../../../application/ports/event-store.ts';
import { emailStream } from '../../../domain/identity/email.ts';
import type { RegisteredUser } from '../../../domain/identity/user.ts';
import { rejection, severalTicks } from '../../support/eventually.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { memoryStores, startNode, type TestNode } from '../../support/node.ts';

const passwords = {
  hash: async (password: string) => `hash of ${password}`,
  verify: async (hash: string | undefined, password: string) => hash === `hash of ${password}`,
};
const emailHash = (email: string): string => `hash-of-${email}`;
const ANN = {
  id: 'ann',
  email: 'ann@example.com',
  displayName: 'Ann',
  role: 'operator',
  password: 'pw',
} as const;
const KEY = 'acme/person-ann';

const context = (): RequestContext => ({
  cause: { actor: { kind: 'user', id: 'boss' }, correlationId: 'r', causationId: 'r' },
  priorAttempt: undefined,
  newId: () => 'unused',
});

const areaOf = (node: TestNode) => {
  const { streams, directory, keys } = node;
  const erasures = new Erasures({ ...node, store: node.keyStore });
  const subscribers = [emailReleaser({ streams, directory }), eraser({ erasures })];
  return {
    erasures,
    identity: new Identity({ streams, directory, passwords, emailHash }),
    forgetting: new Forgetting({ streams, directory, erasures, emailHash }),
    claimer: emailClaimer({ streams, keys, emailHash }),
    /** Delivers every event once, also the events that result, until no more come. */
    settle: async (until: () => boolean = () => true): Promise<void> => {
      const follow = async ({ types, handle }: (typeof subscribers)[number]): Promise<void> => {
        let from: Awaited<ReturnType<EventStore['end']>>;
        for (;;) {
          const ended = until();
          const [stored] = await node.events.readAll({ from, filter: { types }, limit: 1 });
          if (stored === undefined && ended) return;
          if (stored === undefined) await severalTicks(1);
          else await handle(node.codec.decode(stored));
          from = stored?.position ?? from;
        }
      };
      await Promise.all(subscribers.map(follow));
    },
  };
};

const userIn = async (node: TestNode, id = 'ann'): Promise<RegisteredUser> => {
  const user = await node.directory.user('acme', id);
  if (user === undefined) throw new Error('no such user');
  return user;
};

const emailIn = async (node: TestNode) =>
  (await node.states.load('acme', emailStream, emailHash(ANN.email))).state;

const expectGone = async (stores: ReturnType<typeof memoryStores>): Promise<void> => {
  const node = startNode(stores);
  const user = await userIn(node);
  expect(user.status).to.equal('deactivated');
  expect(user.forgotten).not.to.equal(undefined);
  expect(user.passwordHash).to.equal(undefined);
  expect(await node.keys.open(user.email)).to.equal(undefined);
  expect(await emailIn(node)).to.deep.equal({ status: 'free' });
  expect(stores.keyStore.wrapped.get(KEY)).to.equal('destroyed');
};

describe('Forgetting a person', () => {
  it('frees an e-mail that cannot be opened, as after a restore with later keys, for a new account', async () => {
    const node = startNode();
    const { identity, forgetting } = areaOf(node);
    await identity.createUser('acme', ANN, context());
    await node.keys.destroy(KEY);
    await forgetting.forget('acme', 'ann', 'boss', context());
    const { user } = await identity.createUser('acme', { ...ANN, id: 'anna' }, context());
    expect(user).to.include({ id: 'anna', email: ANN.email });
    expect(await emailIn(node)).to.deep.equal({ status: 'claimed', userId: 'anna' });
  });

  const CRASHES: readonly (readonly [string, readonly Fault[], boolean])[] = [
    ['after the fact, unnoticed', ['unavailable after'], false],
    ['before the e-mail is free', ['none', 'unavailable before'], false],
    ['after the e-mail is free, unnoticed', ['none', 'unavailable after'], false],
    ['before the key is destroyed', [], true],
  ];
  for (const [what, faults, keyStoreGone] of CRASHES) {
    for (const how of ['subscribers', 'the same request', 'a start, then subscribers'] as const) {
      it(`is completed by ${how} when the process crashed ${what}`, async () => {
        const stores = memoryStores();
        await areaOf(startNode(stores)).identity.createUser('acme', ANN, context());
        const gone = { ...stores.keyStore, destroy: () => Promise.reject(new StoreUnavailable('gone')) };
        const dying = startNode({
          ...stores,
          events: faultyEvents(stores.events, faults),
          ...(keyStoreGone ? { keyStore: gone } : {}),
        });
        await rejection(areaOf(dying).forgetting.forget('acme', 'ann', 'boss', context()));
        const next = areaOf(startNode(stores));
        if (how === 'the same request') await next.forgetting.forget('acme', 'ann', 'boss', context());
        else {
          // Here the key is destroyed first: the e-mail must be released without the key.
          if (how !== 'subscribers') expect(await next.erasures.reapply()).to.be.lessThan(2);
          await next.settle();
        }
        await expectGone(stores);
      });
    }
  }

  it('releases the e-mail while others register and claim for the person', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(60), { minLength: 8, maxLength: 8 }), async (delays) => {
        const stores = memoryStores();
        let nth = 0;
        const slow = (): EventStore => ({
          ...stores.events,
          append: async (...args) => {
            await severalTicks(delays[nth++ % delays.length]);
            return stores.events.append(...args);
          },
        });
        const [one, two, three] = [0, 1, 2].map(() => startNode({ ...stores, events: slow() }));
        if (one === undefined || two === undefined || three === undefined) throw new Error('three nodes');
        // Waits until the person is registered, while the claim of the e-mail is still under way.
        const creating = areaOf(one).identity.createUser('acme', ANN, context());
        const registered = (async () => {
          for (;;) {
            const [stored] = await stores.events.readAll({ filter: { types: ['UserRegistered'] } });
            if (stored !== undefined) return stored;
            await new Promise((resolve) => setImmediate(resolve));
          }
        })();
        const forgetting = registered.then(() =>
          areaOf(two).forgetting.forget('acme', 'ann', 'boss', context()),
        );
        const claiming = registered.then((stored) =>
          areaOf(three).claimer.handle(three.codec.decode(stored)),
        );
        let ended = false;
        const settling = areaOf(startNode(stores)).settle(() => ended);
        await forgetting;
        // A late claim may succeed or fail; the e-mail is free either way.
        await Promise.allSettled([creating, claiming]);
        ended = true;
        await settling;
        await expectGone(stores);
      }),
      { numRuns: 150 },
    );
  }).timeout(60_000);

  it('releases the e-mail only from the forgotten person', async () => {
    const stores = memoryStores();
    const area = areaOf(startNode(stores));
    await area.identity.createUser('acme', ANN, context());
    await area.forgetting.forget('acme', 'ann', 'boss', context());
    await area.identity.createUser('acme', { ...ANN, id: 'next' }, context());
    await area.identity.createUser('acme', ANN, context());
    await area.forgetting.forget('acme', 'ann', 'boss', context());
    await area.settle();
    expect(await emailIn(startNode(stores))).to.deep.equal({ status: 'claimed', userId: 'next' });
    expect((await userIn(startNode(stores), 'next')).status).to.equal('active');
  });
});

describe('Erasures at the start', () => {
  const forgetMany = async (
    stores: ReturnType<typeof memoryStores>,
    ids: readonly string[],
  ): Promise<void> => {
    const area = areaOf(startNode(stores));
    for (const id of ids) {
      await area.identity.createUser('acme', { ...ANN, id, email: `${id}@x.example` }, context());
    }
    await Promise.all(ids.map((id) => area.forgetting.forget('acme', id, 'boss', context())));
  };
  const named = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, nth) => `${prefix}${nth}`);

  it('are applied to an older key store of any size, reading the log once', async () => {
    const stores = memoryStores();
    const ids = named('a', 620);
    await forgetMany(stores, ids);
    await areaOf(startNode(stores)).identity.createUser('acme', ANN, context());
    // Restores an old backup of keys: most are erased by now, Ann’s is not.
    for (const id of ids) stores.keyStore.wrapped.set(`acme/person-${id}`, Buffer.from('a key of before'));
    for (const id of ids.slice(0, 20)) stores.keyStore.wrapped.delete(`acme/person-${id}`);
    expect(
      await areaOf(startNode({ ...stores, keyStore: unreadable(stores.keyStore) })).erasures.reapply(),
    ).to.equal(620);
    for (const id of ids) expect(stores.keyStore.wrapped.get(`acme/person-${id}`), id).to.equal('destroyed');
    const node = startNode(stores);
    expect(await node.keys.open((await userIn(node)).displayName)).to.equal('Ann');

    let read = 0;
    const counting: EventStore = {
      ...stores.events,
      readAll: async (options) => {
        const page = await stores.events.readAll(options);
        read += page.length;
        return page;
      },
    };
    expect(await areaOf(startNode({ ...stores, events: counting })).erasures.reapply()).to.equal(0);
    expect(read, 'from where it was before').to.be.lessThan(10);
  }).timeout(30_000);

  it('read the log from its beginning when the mark is of another log or missing', async () => {
    for (const mark of [
      'nothing of ours',
      JSON.stringify({ after: '', next: 'x' }),
      JSON.stringify({ after: '!', next: 'x' }),
    ]) {
      const stores = memoryStores();
      await forgetMany(stores, ['ann']);
      stores.keyStore.wrapped.set(KEY, Buffer.from('a key of before'));
      stores.keyStore.wrapped.set(MARK, Buffer.from(mark.padEnd(256)));
      const keyStore = unreadable(stores.keyStore);
      expect(await areaOf(startNode({ ...stores, keyStore })).erasures.reapply()).to.equal(1);
      expect(stores.keyStore.wrapped.get(KEY)).to.equal('destroyed');
      expect(await areaOf(startNode(stores)).erasures.reapply()).to.equal(0);
    }
  });

  it('read the log from its beginning when an earlier version set the mark, which knew fewer erasures', async () => {
    const stores = memoryStores();
    await forgetMany(stores, ['ann']);
    expect(await areaOf(startNode(stores)).erasures.reapply()).to.equal(0);
    const { types, ...former } = marked.parse(JSON.parse(String(stores.keyStore.wrapped.get(MARK))));
    expect(types).to.include('WebhookDeleted');
    stores.keyStore.wrapped.set(KEY, Buffer.from('a key of before'));
    stores.keyStore.wrapped.set(MARK, Buffer.from(JSON.stringify(former).padEnd(256)));
    const keyStore = unreadable(stores.keyStore);
    expect(await areaOf(startNode({ ...stores, keyStore })).erasures.reapply()).to.equal(1);
  });

  it('do nothing for an empty log', async () => {
    expect(await areaOf(startNode()).erasures.reapply()).to.equal(0);
  });
});

const marked = z.looseObject({ types: z.array(z.string()) });

/** Hides the keys that the test put: they are not wrapped, so they cannot be unwrapped. */
const unreadable = (store: ReturnType<typeof memoryStores>['keyStore']) => ({
  ...store,
  getMany: async (ids: readonly string[]) =>
    (await store.getMany(ids)).map((row, nth) =>
      ids[nth] === MARK || row === 'destroyed' ? row : undefined,
    ),
});
