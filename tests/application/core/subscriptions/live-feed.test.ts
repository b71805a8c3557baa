import { expect } from 'chai';
import { z } from 'zod';
import { firstAdminKeyId } from '../../../../application/core/privacy/key-ids.ts';
import { LiveFeed } from '../../../../application/core/subscriptions/live-feed.ts';
import { Envelopes } from '../../../../application/messaging/envelopes.ts';
import {
  type EventStore,
  type GrowthListener,
  StoreUnavailable,
} from '../../../../application/ports/event-store.ts';
import { registerUser, userStream } from '../../../../domain/identity/user.ts';
import {
  conversationStream,
  deleteMessage,
  sendMessage,
  startConversation,
} from '../../../../domain/messaging/conversation.ts';
import { causeOf } from '../../../support/book.ts';
import { rejection, severalTicks, untilPasses } from '../../../support/eventually.ts';
import { useFakeClock } from '../../../support/fake-timers.ts';
import { memoryStores, type SharedStores, startNode, type TestNode } from '../../../support/node.ts';

const conversation = (node: TestNode) => {
  const base = { tenantId: 'acme', type: conversationStream, id: 'c1', cause: causeOf('x') };
  return {
    start: () =>
      node.commands.execute({
        ...base,
        decide: (state) =>
          startConversation(state, { conversationId: 'c1', dmKey: 'k', participants: ['ann', 'bob'] }),
      }),
    send: (id: string, body = 'hello') =>
      node.commands.execute({
        ...base,
        decide: (state, at) =>
          sendMessage(
            state,
            { messageId: id, textKey: `message-${id}`, senderId: 'ann', storedBody: body, mentioned: [] },
            at,
          ),
      }),
    remove: (id: string) => {
      const message = {
        messageId: id,
        textKey: `message-${id}`,
        senderId: 'ann',
        sentAt: 0,
        editedAt: undefined,
        deletedAt: undefined,
      };
      return node.commands.execute({
        ...base,
        decide: (state) => deleteMessage(state, { userId: 'ann', message }),
      });
    },
  };
};

describe('the live feed', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });
  const following = async (node: TestNode): Promise<LiveFeed> => {
    const feed = new LiveFeed(node);
    const stopping = new AbortController();
    const started = Promise.withResolvers<void>();
    const done = feed.run(stopping.signal, started.resolve);
    ends.push(async () => {
      stopping.abort();
      await done;
    });
    await started.promise;
    return feed;
  };

  it('delivers events after its start in order', async () => {
    const node = startNode();
    const talk = conversation(node);
    await talk.start();
    const feed = await following(node);
    expect(feed.position).to.equal(await node.events.end());
    const seen: number[] = [];
    feed.onEvent((event) => void seen.push(event.revision), ['MessageSent']);
    await Promise.all(['m1', 'm2', 'm3'].map((id) => talk.send(id)));
    await untilPasses(() => expect(seen).to.deep.equal([1, 2, 3]));
    await untilPasses(async () => expect(feed.position).to.equal(await node.events.end()));
  });

  it('moves past events without a listener, and does not decode them', async () => {
    const stores = memoryStores();
    const node = startNode(stores);
    const talk = conversation(node);
    await talk.start();
    const feed = await following(node);
    const seen: string[] = [];
    let grown = 0;
    feed.onEvent((event) => void seen.push(event.type), ['MessageSent']);
    feed.onGrowth(() => {
      grown += 1;
    });
    await stores.events.append('acme.odd-1', 'any', [
      { id: node.ids.next(), type: 'Unheard', data: '{}', metadata: '{}' },
    ]);
    await untilPasses(async () => expect(feed.position).to.equal(await node.events.end()));
    expect(grown).to.equal(1);
    await talk.send('m1');
    await untilPasses(() => expect(seen).to.deep.equal(['MessageSent']));
    expect(node.logger.lines.filter((line) => line.level === 'error')).to.have.length(0);
    feed.onEvent((event) => void seen.push(`later: ${event.type}`), ['MessageDeleted']);
    await talk.remove('m1');
    await untilPasses(() => expect(seen).to.include('later: MessageDeleted'));
  });

  it('reports growth before it delivers events', async () => {
    const node = startNode();
    const talk = conversation(node);
    await talk.start();
    const feed = await following(node);
    const seen: string[] = [];
    feed.onEvent((event) => void seen.push(event.type), ['MessageSent']);
    feed.onGrowth(() => void seen.push('grown'));
    await talk.send('m1');
    await untilPasses(() => expect(seen).to.deep.equal(['grown', 'MessageSent']));
  });

  it('continues after an undecodable event and a failing listener', async () => {
    const stores = memoryStores();
    const node = startNode(stores);
    const talk = conversation(node);
    await talk.start();
    const feed = await following(node);
    const seen: string[] = [];
    feed.onEvent(
      (event) => {
        if (event.revision === 1) throw new Error('a bug');
        seen.push(event.type);
      },
      ['MessageSent', 'Unheard'],
    );
    await talk.send('m1');
    await stores.events.append('acme.odd-1', 'any', [
      { id: node.ids.next(), type: 'Unheard', data: '{}', metadata: '{}' },
    ]);
    await talk.send('m2');
    await untilPasses(() => expect(seen).to.deep.equal(['MessageSent']));
    expect(node.logger.lines.filter((line) => line.level === 'error')).to.have.length(2);
  });

  it('drops states and keys that another node changed', async () => {
    const stores = memoryStores();
    const [here, there] = [startNode(stores), startNode(stores)];
    await conversation(there).start();
    const { events } = await conversation(there).send('m1');
    const sealed = z.object({ body: z.string() }).parse(events[0]?.data).body;
    await here.states.load('acme', conversationStream, 'c1');
    expect(await here.keys.open(sealed)).to.equal('hello');
    await following(here);
    await conversation(there).remove('m1');
    await there.keys.destroy('acme/message-m1');
    await untilPasses(async () => {
      expect(here.states.cached('acme.conversation-c1')).to.equal(undefined);
      expect(await here.keys.open(sealed)).to.equal(undefined);
    });
  });

  it('drops the key of the first admin’s data when that admin is forgotten', async () => {
    const stores = memoryStores();
    const [here, there] = [startNode(stores), startNode(stores)];
    const key = firstAdminKeyId('acme');
    await there.keys.persist([there.keys.create(key)]);
    await here.keys.load([key]);
    await following(here);
    await there.keys.destroy(key);
    const user = { tenantId: 'acme', type: userStream, id: 'ann', cause: causeOf('x') };
    await there.commands.execute({
      ...user,
      decide: () => [{ type: 'UserForgotten' as const, data: { user_id: 'ann' } }],
    });
    await untilPasses(async () => {
      await here.keys.load([key]);
      expect(here.keys.isDestroyed(key)).to.equal(true);
    });
  });
});

describe('a node’s cache', () => {
  const time = useFakeClock();
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  /** A node whose store or live source can be disconnected. */
  const node = async (stores: SharedStores) => {
    const told = new Set<GrowthListener>();
    const gone = { end: false, reads: false, subscription: false, asked: 0 };
    const cut = (): never => {
      throw new StoreUnavailable('gone');
    };
    const events: EventStore = {
      ...stores.events,
      end: async () => {
        gone.asked += 1;
        return gone.end ? cut() : stores.events.end();
      },
      readStream: async (...args) => (gone.reads ? cut() : stores.events.readStream(...args)),
      // A disconnected live source reports nothing, not even an error.
      onGrowth: (listener) => {
        const leave = stores.events.onGrowth((growth) => {
          if (!gone.subscription) listener(growth);
        });
        told.add(listener);
        return leave;
      },
    };
    const { clock, ...own } = startNode({ ...stores, events });
    const feed = new LiveFeed(own);
    own.states.trustWhile(() => feed.isCurrent);
    const stopping = new AbortController();
    const started = Promise.withResolvers<void>();
    const done = feed.run(stopping.signal, started.resolve);
    ends.push(async () => {
      stopping.abort();
      await done;
    });
    await started.promise;
    const back = (): void => {
      gone.subscription = false;
      for (const listener of told) listener();
    };
    return { ...own, clock, feed, gone, back };
  };
  const set = (at: Pick<TestNode, 'commands'>, status: 'active' | 'deactivated') =>
    at.commands.execute({
      tenantId: 'acme',
      type: userStream,
      id: 'ann',
      cause: causeOf(status),
      decide: () => [{ type: 'UserStatusChanged' as const, data: { user_id: 'ann', status } }],
    });
  const cachedAnn = ({ streams }: Pick<TestNode, 'streams'>) =>
    streams.of(userStream, 'acme', 'ann').cached()?.state;
  const withAnn = async (): Promise<SharedStores> => {
    const stores = memoryStores();
    await startNode(stores).commands.execute({
      tenantId: 'acme',
      type: userStream,
      id: 'ann',
      cause: causeOf('ann'),
      decide: (state) =>
        registerUser(state, {
          userId: 'ann',
          email: 'ann@example.com',
          displayName: 'Ann',
          role: 'operator',
          origin: 'admin',
        }),
    });
    return stores;
  };

  it('is valid while the log answers and the feed keeps up', async () => {
    const began = time.now();
    const here = await node(await withAnn());
    await here.directory.user('acme', 'ann');
    time.pass(4900);
    await untilPasses(() => {
      time.pass(1);
      // By now the first confirmation has expired, so the cache was confirmed again.
      expect(time.now() - began).to.be.greaterThan(5000);
      expect(here.feed.isCurrent).to.equal(true);
    });
    expect(cachedAnn(here)).to.include({ status: 'active' });
  });

  it('is bypassed when the live source was disconnected for more than 5 s', async () => {
    const stores = await withAnn();
    const here = await node(stores);
    await here.directory.user('acme', 'ann');
    here.gone.subscription = true;
    await set(startNode(stores), 'deactivated');
    expect(cachedAnn(here), 'for a moment').to.include({ status: 'active' });
    // The log answers, but the feed does not reach its end, so nothing is confirmed.
    const before = here.gone.asked;
    await untilPasses(() => expect(here.gone.asked).to.be.greaterThan(before));
    await severalTicks();
    time.pass(5001);
    expect(here.feed.isCurrent).to.equal(false);
    expect(cachedAnn(here)).to.equal(undefined);
    expect(await here.directory.user('acme', 'ann')).to.include({ status: 'deactivated' });
    await set(startNode(stores), 'active');
    expect(await here.directory.user('acme', 'ann'), 'asked each time').to.include({ status: 'active' });
    here.back();
    await untilPasses(() => expect(here.feed.isCurrent).to.equal(true));
    expect(cachedAnn(here)).to.include({ status: 'active' });
  });

  it('is bypassed with an error while the store is unavailable', async () => {
    const here = await node(await withAnn());
    await here.directory.user('acme', 'ann');
    here.gone.end = true;
    here.gone.reads = true;
    time.pass(5000);
    expect(await here.directory.user('acme', 'ann'), 'not yet').to.include({ status: 'active' });
    time.pass(1);
    expect(await rejection(here.directory.user('acme', 'ann'))).to.be.instanceOf(StoreUnavailable);
    here.gone.end = false;
    here.gone.reads = false;
    await untilPasses(() => expect(here.feed.isCurrent).to.equal(true));
    expect(cachedAnn(here)).to.include({ status: 'active' });
  });

  it('still allows commands, each decided on the stored state', async () => {
    const stores = await withAnn();
    const here = await node(stores);
    here.gone.end = true;
    time.pass(5001);
    await set(startNode(stores), 'deactivated');
    await Promise.all([set(here, 'active'), set(here, 'deactivated')]);
    expect(await stores.events.readStream('acme.user-ann')).to.have.length(4);
  });
});

describe('envelopes', () => {
  it('of a message go to its participants with the specified fields', async () => {
    const node = startNode();
    const talk = conversation(node);
    await talk.start();
    await talk.send('m1', 'hello \u0000bob\u0000');
    const [stored] = await node.events.readAll({ filter: { types: ['MessageSent'] } });
    if (stored === undefined) throw new Error('no event');
    const event = node.codec.decode(stored);
    const envelope = await new Envelopes(node).prepare(event);
    expect(envelope?.recipients).to.deep.equal(['ann', 'bob']);
    expect(JSON.parse(envelope?.text() ?? '')).to.deep.equal({
      kind: 'message',
      event: 'created',
      position: stored.position,
      conversation_id: 'c1',
      message: {
        id: 'm1',
        sender_user_id: 'ann',
        body: 'hello @[ erased ](user:bob)',
        created_at: new Date(event.at).toISOString(),
      },
    });
  });

  it('have no text once the message is erased, even right before sending', async () => {
    const node = startNode();
    const talk = conversation(node);
    await talk.start();
    await talk.send('m1');
    const [stored] = await node.events.readAll({ filter: { types: ['MessageSent'] } });
    if (stored === undefined) throw new Error('no event');
    const event = node.codec.decode(stored);
    const envelopes = new Envelopes(node);
    const envelope = await envelopes.prepare(event);
    await node.keys.destroy('acme/message-m1');
    expect(envelope?.text()).to.equal(undefined);
    expect((await envelopes.prepare(event))?.text()).to.equal(undefined);
  });

  it('are not made of other events', async () => {
    const node = startNode();
    await conversation(node).start();
    const envelopes = new Envelopes(node);
    for (const stored of await node.events.readAll()) {
      expect(await envelopes.prepare(node.codec.decode(stored))).to.equal(undefined);
    }
  });
});
