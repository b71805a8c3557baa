import { expect } from 'chai';
import fc from 'fast-check';
import type { MessageLookup } from '../../../application/messaging/message-facts.ts';
import { dmKeyOf, Messaging } from '../../../application/messaging/messaging.ts';
import type { StoredEvent } from '../../../application/ports/event-store.ts';
import { decided } from '../../../domain/core/event.ts';
import { UserStatusChanged, userStream } from '../../../domain/identity/user.ts';
import { conversationsProjection, type MessageDoc } from '../../../projections/messaging/conversations.ts';
import { refusalCode } from '../../support/eventually.ts';
import { folded } from '../../support/folded.ts';
import { memoryStores, startNode } from '../../support/node.ts';
import { contextOf, settle } from '../village.ts';

/** Ann, Bob and Eve; the read model is `lag` events behind the log. */
const village = async (lag: () => number = () => 0) => {
  const stores = memoryStores();
  const node = startNode(stores);
  const context = () => contextOf(node);
  await settle(node);
  const lookUpMessage = async (_tenant: string, messageId: string): Promise<MessageLookup> => {
    const log = await stores.events.readAll();
    const seen: readonly StoredEvent[] = log.slice(0, Math.max(0, log.length - lag()));
    const story = seen
      .filter((event) => event.stream.startsWith('acme.conversation-'))
      .map((event) => node.codec.decode(event));
    const documents = folded(conversationsProjection, story);
    // The collection holds only these documents.
    const doc = documents.get(`messages/acme/${messageId}`) as MessageDoc | undefined;
    return { checkpoint: seen.at(-1)?.position, message: doc };
  };
  const messaging = new Messaging({ ...node, lookUpMessage });
  return { stores, node, messaging, context };
};

describe('messaging', () => {
  it('starts one conversation for the same people when any of them requests it again', async () => {
    const { messaging, context } = await village();
    const asks = [
      ['ann', ['bob']],
      ['bob', ['ann']],
      ['ann', ['bob', 'ann', 'bob']],
    ] as const;
    const outcomes = await Promise.all(
      asks.map(([who, others]) => messaging.start('acme', who, others, context())),
    );
    expect(new Set(outcomes.map((outcome) => outcome.conversation.id)).size).to.equal(1);
    expect(outcomes.filter((outcome) => outcome.created)).to.have.length(1);
  });

  it('refuses too few, too many and unknown people', async () => {
    const { messaging, context } = await village();
    const start = (others: readonly string[]) =>
      refusalCode(messaging.start('acme', 'ann', others, context()));
    expect(await start([])).to.equal('validation_failed');
    expect(await start(['ann'])).to.equal('validation_failed');
    expect(await start(Array.from({ length: 50 }, (_, n) => `u${n}`))).to.equal('validation_failed');
    expect(await start(['nobody'])).to.equal('not_found');
    expect(await refusalCode(messaging.start('beta', 'ann', ['bob'], context()))).to.equal('not_found');
  });

  it('starts with and mentions a person whom another node has reactivated', async () => {
    const { node, stores, messaging, context } = await village();
    const { conversation: ours } = await messaging.start('acme', 'ann', ['eve'], context());
    const other = startNode(stores);
    const setStatus = (of: typeof node, status: 'active' | 'deactivated') =>
      of.commands.execute({
        tenantId: 'acme',
        type: userStream,
        id: 'bob',
        cause: context().cause,
        decide: () => decided(UserStatusChanged, { user_id: 'bob', status }),
      });
    await setStatus(node, 'deactivated');
    expect(await refusalCode(messaging.start('acme', 'ann', ['bob'], context()))).to.equal('not_found');
    await setStatus(other, 'active');
    await messaging.send('acme', ours.id, 'ann', 'hello @[Bob](user:bob)', context());
    const [sent] = await stores.events.readAll({ filter: { types: ['MessageSent'] } });
    expect(sent && node.codec.decode(sent).data).to.deep.include({ mentioned_user_ids: ['bob'] });
    await setStatus(other, 'deactivated');
    await node.directory.freshUser('acme', 'bob');
    await setStatus(other, 'active');
    const { conversation } = await messaging.start('acme', 'ann', ['bob'], context());
    expect(conversation.participants).to.deep.equal(['ann', 'bob']);
  });

  it('reads at most fifty people again for a message that mentions hundreds of unknown ones', async () => {
    const { stores, messaging, context } = await village();
    const { conversation } = await messaging.start('acme', 'ann', ['bob'], context());
    const body = Array.from({ length: 300 }, (_, n) => `@[X](user:x${n})`).join(' ');
    await messaging.send('acme', conversation.id, 'ann', body, context());
    const { readStream } = stores.events;
    let reads = 0;
    stores.events.readStream = (...args) => {
      reads += 1;
      return readStream.apply(stores.events, args);
    };
    await messaging.send('acme', conversation.id, 'ann', body, context());
    expect(reads).to.be.within(1, 60);
  });

  it('does not find messages of another conversation', async () => {
    const { messaging, context } = await village();
    const one = (await messaging.start('acme', 'ann', ['bob'], context())).conversation.id;
    const other = (await messaging.start('acme', 'ann', ['eve'], context())).conversation.id;
    const { message } = await messaging.send('acme', one, 'ann', 'hello', context());
    expect(
      await refusalCode(messaging.edit('acme', other, message.messageId, 'ann', 'x', context())),
    ).to.equal('not_found');
    expect(await refusalCode(messaging.delete('acme', other, message.messageId, 'ann', context()))).to.equal(
      'not_found',
    );
  });

  it('decides on the log’s state with a read model behind by any number of events', async () => {
    const steps = fc.array(
      fc.tuple(fc.constantFrom('send', 'edit', 'edit', 'delete'), fc.nat(4), fc.nat(12)),
      {
        maxLength: 15,
      },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (story) => {
        let lag = 0;
        const { messaging, context, stores, node } = await village(() => lag);
        const { id } = (await messaging.start('acme', 'ann', ['bob'], context())).conversation;
        const messages: { id: string; deleted: boolean }[] = [];
        for (const [what, which, behind] of story) {
          lag = behind;
          if (what === 'send') {
            const { message } = await messaging.send('acme', id, 'ann', 'hello', context());
            messages.push({ id: message.messageId, deleted: false });
            continue;
          }
          const message = messages[which];
          if (message === undefined) continue;
          if (what === 'edit') {
            const edit = messaging.edit('acme', id, message.id, 'ann', 'changed', context());
            if (message.deleted) expect(await refusalCode(edit)).to.equal('invalid_transition');
            else expect((await edit).message.body).to.equal('changed');
          } else {
            await messaging.delete('acme', id, message.id, 'ann', context());
            message.deleted = true;
          }
        }
        const deletions = (await stores.events.readAll({ filter: { types: ['MessageDeleted'] } })).map(
          (event) => JSON.stringify(node.codec.decode(event).data),
        );
        expect(new Set(deletions).size, 'nothing is deleted twice').to.equal(deletions.length);
      }),
      { numRuns: 60 },
    );
  });

  it('derives the key of a conversation from the set of people in the specified form', () => {
    // printf 'ann,bob' | sha256sum
    const key = 'f361c245ce8d289cdc830941d179ca7107bea1aac101c02e091933da1fd750d1';
    expect(dmKeyOf(['bob', 'ann', 'bob'])).to.equal(dmKeyOf(['ann', 'bob']));
    expect(dmKeyOf(['ann', 'bob'])).to.equal(key);
    expect(dmKeyOf(['a', 'B'])).to.equal(dmKeyOf(['B', 'a']));
  });
});
