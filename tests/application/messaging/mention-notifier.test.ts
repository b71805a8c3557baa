import { expect } from 'chai';
import { z } from 'zod';
import type { LoggedEvent } from '../../../application/core/events/event-codec.ts';
import { eraser } from '../../../application/core/privacy/eraser.ts';
import { Erasures } from '../../../application/core/privacy/erasures.ts';
import { runSubscriber } from '../../../application/core/subscriptions/subscriber.ts';
import { mentionNotifier } from '../../../application/messaging/mention-notifier.ts';
import { Messaging } from '../../../application/messaging/messaging.ts';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { openSqliteReadStore } from '../../../infrastructure/read-store/sqlite/store.ts';
import { untilPasses } from '../../support/eventually.ts';
import { faultyEvents } from '../../support/faults.ts';
import { memoryStores, startNode } from '../../support/node.ts';
import { handledUpTo, newSchedule } from '../../support/schedule.ts';
import { contextOf, settle } from '../village.ts';

const raised = z.object({ recipient_user_id: z.string(), snippet: z.string(), note_id: z.string() });

/** A tenant with a conversation of Ann and Bob, and Eve outside of it. */
const village = async () => {
  const stores = memoryStores();
  const node = startNode(stores);
  await settle(node);
  const messaging = new Messaging({
    ...node,
    lookUpMessage: async () => ({ checkpoint: undefined, message: undefined }),
  });
  const { conversation } = await messaging.start('acme', 'ann', ['bob'], contextOf(node));
  const send = (body: string) => messaging.send('acme', conversation.id, 'ann', body, contextOf(node));
  const sent = async (): Promise<LoggedEvent[]> =>
    (await stores.events.readAll({ filter: { types: ['MessageSent'] } })).map((event) =>
      node.codec.decode(event),
    );
  const inbox = async (userId: string) => {
    const events = await stores.events.readStream(`acme.inbox-${userId}`);
    return events.map((event) => raised.parse(node.codec.decode(event).data));
  };
  return { stores, node, messaging, conversation, send, sent, inbox };
};
const BOTH = 'Hi @[Bob](user:bob) and @[Eve](user:eve), not @[Ann](user:ann) nor @[X](user:nobody)';

describe('the mention notifier', () => {
  it('notifies each mentioned person but the sender once, and shows the text to participants only', async () => {
    const { node, send, sent, inbox } = await village();
    await send(BOTH);
    const notifier = mentionNotifier(node);
    for (const event of await sent()) await notifier.handle(event);
    const [[bob], [eve]] = [await inbox('bob'), await inbox('eve')];
    expect(await node.keys.open(bob?.snippet ?? '')).to.include('Hi \u0000bob\u0000 and');
    expect(await node.keys.open(eve?.snippet ?? '')).to.equal('');
    expect(await inbox('ann')).to.deep.equal([]);
  });

  it('notifies once when it handles an event again on any node', async () => {
    const { stores, node, send, sent, inbox } = await village();
    await send(BOTH);
    await send('@[Bob](user:bob)');
    const nodes = [node, startNode(stores), node];
    for (const each of nodes) for (const event of await sent()) await mentionNotifier(each).handle(event);
    await Promise.all(
      nodes.map((each) =>
        sent().then((events) => Promise.all(events.map((event) => mentionNotifier(each).handle(event)))),
      ),
    );
    expect(await inbox('bob')).to.have.length(2);
    expect(await inbox('eve')).to.have.length(1);
  });

  it('continues after a crash between two recipients', async () => {
    for (const fault of ['unavailable before', 'unavailable after'] as const) {
      for (const at of [0, 1]) {
        const { stores, node, send, inbox } = await village();
        await send(BOTH);
        const faults = [...Array.from({ length: at }, () => 'none' as const), fault];
        const shaky = startNode({ ...stores, events: faultyEvents(stores.events, faults) });
        const store = await openSqliteReadStore({ path: ':memory:' });
        const stopping = new AbortController();
        const done = runSubscriber(
          mentionNotifier(shaky),
          {
            store,
            follower: node.follower,
            codec: node.codec,
            logger: node.logger,
            owner: 'one',
            ttlMs: 1000,
            ...newSchedule(),
          },
          stopping.signal,
        );
        await untilPasses(async () => {
          for (const name of ['bob', 'eve']) expect(await inbox(name)).to.have.length(1);
        });
        const end = await stores.events.end();
        await untilPasses(async () => expect(await handledUpTo(store, 'mention-notifier')).to.equal(end));
        expect(await inbox('bob')).to.have.length(1);
        stopping.abort();
        await done;
        await store.close();
      }
    }
  });

  it('reveals no text of a message that was deleted before it was handled', async () => {
    const { node, messaging, conversation, send, sent, inbox } = await village();
    const { message } = await send('@[Bob](user:bob) a secret');
    await messaging.delete('acme', conversation.id, message.messageId, 'ann', contextOf(node));
    for (const event of await sent()) await mentionNotifier(node).handle(event);
    const [bob] = await inbox('bob');
    expect(await node.keys.open(bob?.snippet ?? '')).to.equal(undefined);
  });
});

describe('the eraser', () => {
  it('destroys the key of a deleted message when the request crashed', async () => {
    const { stores, node, send, sent, conversation } = await village();
    const { message } = await send('a secret');
    const dying = startNode({
      ...stores,
      keyStore: { ...stores.keyStore, destroy: () => Promise.reject(new StoreUnavailable('gone')) },
    });
    const messaging = new Messaging({
      ...dying,
      lookUpMessage: async () => ({ checkpoint: undefined, message: undefined }),
    });
    await messaging
      .delete('acme', conversation.id, message.messageId, 'ann', contextOf(dying))
      .catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error;
      });
    const [event] = await sent();
    const body = z.object({ body: z.string() }).parse(event?.data).body;
    expect(await node.keys.open(body)).to.equal('a secret');
    const deleted = await stores.events.readAll({ filter: { types: ['MessageDeleted'] } });
    const erasures = new Erasures({ ...node, store: node.keyStore });
    for (let twice = 0; twice < 2; twice += 1) {
      for (const each of deleted) await eraser({ erasures }).handle(node.codec.decode(each));
    }
    expect(await node.keys.open(body)).to.equal(undefined);
    expect(await startNode(stores).keys.open(body)).to.equal(undefined);
  });
});
