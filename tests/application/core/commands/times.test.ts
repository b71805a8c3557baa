import { expect } from 'chai';
import fc from 'fast-check';
import type { StreamState } from '../../../../application/core/commands/stream-states.ts';
import {
  conversationStream,
  markRead,
  sendMessage,
  startConversation,
} from '../../../../domain/messaging/conversation.ts';
import { BOOK, type Book, bookEvents, causeOf, write } from '../../../support/book.ts';
import { testClock } from '../../../support/fakes.ts';
import { BEGINNING } from '../../../support/given.ts';
import { memoryStores, startNode } from '../../../support/node.ts';

const timesOf = async (node: ReturnType<typeof startNode>, stream: string): Promise<number[]> =>
  (await node.events.readStream(stream)).map((event) => node.codec.decode(event).at);

describe('times within a stream', () => {
  it('never decrease with clocks that jump back or differ', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(0, 1), fc.integer({ min: -5000, max: 5000 }))),
        async (story) => {
          const stores = memoryStores();
          const clocks = [testClock(), testClock(BEGINNING + 2000)];
          const nodes = clocks.map((clock) => startNode({ ...stores, clock, definitions: bookEvents }));
          for (const [n, [which, jump]] of story.entries()) {
            clocks[which]?.advance(jump);
            await nodes[which]?.commands.execute(write(`e${n}`));
          }
          const [node] = nodes;
          if (node === undefined) throw new Error('no node');
          const times = await timesOf(node, BOOK);
          expect(times).to.deep.equal([...times].sort((a, b) => a - b));
        },
      ),
    );
  });

  it('give a message a later time than each earlier read mark, also within one millisecond', async () => {
    const clock = testClock();
    const node = startNode({ clock });
    const base = { tenantId: 'acme', type: conversationStream, id: 'c1', cause: causeOf('x') };
    const start = { conversationId: 'c1', dmKey: 'k', participants: ['ann', 'bob'] };
    await node.commands.execute({ ...base, decide: (state) => startConversation(state, start) });
    const jobs = Array.from({ length: 40 }, (_, n) =>
      node.commands.execute({
        ...base,
        decide: (state, context) =>
          n % 2 === 0
            ? markRead(state, 'bob')
            : sendMessage(
                state,
                {
                  messageId: `m${n}`,
                  textKey: `message-m${n}`,
                  senderId: 'ann',
                  storedBody: 'x',
                  mentioned: [],
                },
                context,
              ),
      }),
    );
    await Promise.all(jobs);
    let lastRead = 0;
    for (const stored of await node.events.readStream('acme.conversation-c1')) {
      const { type, at } = node.codec.decode(stored);
      if (type === 'ConversationRead') lastRead = at;
      if (type === 'MessageSent') expect(at).to.be.greaterThan(lastRead);
    }
  });
});

describe('facts from outside the state', () => {
  it('are loaded at the revision of the decision, and again after a lost race', async () => {
    const stores = memoryStores();
    const [here, there] = [0, 1].map(() => startNode({ ...stores, definitions: bookEvents }));
    if (here === undefined || there === undefined) throw new Error('no nodes');
    await here.commands.execute(write('a'));
    const revisions: number[] = [];
    const careful = {
      ...write('b'),
      prepare: async (state: StreamState<Book>) => {
        revisions.push(state.revision);
        if (revisions.length === 1) await there.commands.execute(write('meanwhile'));
        return undefined;
      },
    };
    const outcome = await here.commands.execute(careful);
    expect(revisions).to.deep.equal([0, 1]);
    expect(outcome.events[0]?.revision).to.equal(2);
  });

  it('include earlier commands of the same queue', async () => {
    const node = startNode({ definitions: bookEvents });
    const revisions: number[] = [];
    const careful = (entry: string) => ({
      ...write(entry),
      prepare: async (state: StreamState<Book>) => {
        revisions.push(state.revision);
        expect(await node.events.readStream(BOOK)).to.have.length(state.revision + 1);
        return undefined;
      },
    });
    await Promise.all(
      [write('a'), careful('b'), write('c'), careful('d')].map((each) => node.commands.execute(each)),
    );
    expect(revisions.filter((each, at) => each !== revisions[at - 1])).to.deep.equal([0, 2]);
  });
});
