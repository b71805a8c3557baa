import { expect } from 'chai';
import { z } from 'zod';
import { Envelopes } from '../../../application/envelopes.ts';
import { LiveFeed } from '../../../application/live-feed.ts';
import {
  conversationDecider,
  deleteMessage,
  sendMessage,
  startConversation,
} from '../../../domain/messaging/conversation.ts';
import { causeOf } from '../../support/book.ts';
import { eventually, severalTurns } from '../../support/eventually.ts';
import { memoryStores, startNode, type TestNode } from '../../support/node.ts';

const conversation = (node: TestNode) => {
  const base = { tenantId: 'acme', decider: conversationDecider, id: 'c1', cause: causeOf('x') };
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

  it('hands on what comes after its start, in order and one after the other', async () => {
    const node = startNode();
    const talk = conversation(node);
    await talk.start();
    const feed = await following(node);
    expect(feed.position).to.equal(await node.events.head());
    const seen: number[] = [];
    let busy = false;
    feed.onEvent(async (event) => {
      expect(busy).to.equal(false);
      busy = true;
      await severalTurns(2);
      busy = false;
      seen.push(event.revision);
    });
    await Promise.all(['m1', 'm2', 'm3'].map((id) => talk.send(id)));
    await eventually(() => expect(seen).to.deep.equal([1, 2, 3]));
    await eventually(async () => expect(feed.position).to.equal(await node.events.head()));
  });

  it('goes on after an event that cannot be read and after a listener that fails', async () => {
    const stores = memoryStores();
    const node = startNode(stores);
    const talk = conversation(node);
    await talk.start();
    const feed = await following(node);
    const seen: string[] = [];
    feed.onEvent((event) => {
      if (event.revision === 1) throw new Error('a bug');
      seen.push(event.type);
    });
    await talk.send('m1');
    await stores.events.append('acme.odd-1', 'any', [
      { id: node.ids.next(), type: 'Unheard', data: '{}', metadata: '{}' },
    ]);
    await talk.send('m2');
    await eventually(() => expect(seen).to.deep.equal(['MessageSent']));
    expect(node.logger.lines.filter((line) => line.level === 'error')).to.have.length(2);
  });

  it('drops states and keys that another node has left behind', async () => {
    const stores = memoryStores();
    const [here, there] = [startNode(stores), startNode(stores)];
    await conversation(there).start();
    const { events } = await conversation(there).send('m1');
    const sealed = z.object({ body: z.string() }).parse(events[0]?.data).body;
    await here.states.load('acme', conversationDecider, 'c1');
    expect(await here.keys.open(sealed)).to.equal('hello');
    await following(here);
    await conversation(there).remove('m1');
    await there.keys.destroy('acme/message-m1');
    await eventually(async () => {
      expect(here.states.cached('acme.conversation-c1')).to.equal(undefined);
      expect(await here.keys.open(sealed)).to.equal(undefined);
    });
  });
});

describe('envelopes', () => {
  it('of a message are for its participants, with the fields that the specification names', async () => {
    const node = startNode();
    const talk = conversation(node);
    await talk.start();
    await talk.send('m1', 'hello \u0000bob\u0000');
    const [stored] = await node.events.readAll({ filter: { types: ['MessageSent'] } });
    if (stored === undefined) throw new Error('no event');
    const event = node.codec.decode(stored);
    const envelope = await new Envelopes(node).of(event);
    expect(envelope?.recipients).to.deep.equal(['ann', 'bob']);
    expect(JSON.parse(envelope?.text ?? '')).to.deep.equal({
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

  it('are not made of erased messages, nor of other events', async () => {
    const node = startNode();
    const talk = conversation(node);
    await talk.start();
    await talk.send('m1');
    await node.keys.destroy('acme/message-m1');
    const envelopes = new Envelopes(node);
    for (const stored of await node.events.readAll()) {
      expect(await envelopes.of(node.codec.decode(stored))).to.equal(undefined);
    }
  });
});
