import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import type { Decided } from '../../domain/core/stream-type.ts';
import {
  type Conversation,
  type ConversationEvent,
  conversationStream,
  deleteMessage,
  markRead,
  sendMessage,
} from '../../domain/messaging/conversation.ts';
import { conversationsProjection } from '../../projections/messaging/conversations.ts';
import { folded, type PastEvent } from '../support/folded.ts';
import { BEGINNING } from '../support/given.ts';

const PEOPLE = ['ann', 'bob', 'eve'];
const steps = fc.array(
  fc.record({
    who: fc.constantFrom(...PEOPLE),
    what: fc.constantFrom('send', 'send', 'read', 'delete'),
    which: fc.nat(20),
    /** Milliseconds since the previous event; often 0. */
    later: fc.constantFrom(0, 0, 0, 1, 2, 1000),
  }),
  { maxLength: 60 },
);

interface Sent {
  readonly id: string;
  readonly sender: string;
  readonly at: number;
  deletedAt: number | undefined;
}

const conversation = z.object({
  participants: z.array(
    z.object({ user_id: z.string(), last_read_at: z.string().nullable(), unread: z.number() }),
  ),
});

describe('Unread counts', () => {
  it('follow the specification after any history', () => {
    fc.assert(
      fc.property(steps, (history) => {
        const story: PastEvent[] = [];
        const messages: Sent[] = [];
        const lastRead = new Map<string, number>();
        let state: Conversation = conversationStream.initial;
        let now = BEGINNING;
        const createSale = (events: readonly Decided<ConversationEvent>[]): number => {
          for (const event of events) {
            const at = Math.max(event.at ?? now, now);
            now = at;
            state = conversationStream.evolve(state, event, { at, revision: story.length });
            story.push({ type: event.type, data: event.data, at });
          }
          return now;
        };
        createSale([
          {
            type: 'ConversationStarted',
            data: { conversation_id: 'c1', dm_key: 'k', participant_user_ids: [...PEOPLE] },
          },
        ]);
        for (const { who, what, which, later } of history) {
          now += later;
          if (what === 'send') {
            const id = `m${messages.length}`;
            const command = {
              messageId: id,
              textKey: `message-${id}`,
              senderId: who,
              storedBody: 'x',
              mentioned: [],
            };
            messages.push({
              id,
              sender: who,
              at: createSale(sendMessage(state, command, { now })),
              deletedAt: undefined,
            });
          } else if (what === 'read') lastRead.set(who, createSale(markRead(state, who)));
          else {
            const message = messages[which];
            if (message === undefined) continue;
            const facts = {
              messageId: message.id,
              textKey: `message-${message.id}`,
              senderId: message.sender,
              sentAt: message.at,
              editedAt: undefined,
            };
            const events = deleteMessage(state, {
              userId: message.sender,
              message: { ...facts, deletedAt: message.deletedAt },
            });
            if (events.length > 0) message.deletedAt = createSale(events);
          }
        }
        const document = conversation.parse(
          folded(conversationsProjection, story).get('conversations/acme/c1'),
        );
        for (const { user_id, unread, last_read_at } of document.participants) {
          const read = lastRead.get(user_id);
          const expected = messages.filter(
            ({ sender, at, deletedAt }) =>
              sender !== user_id && deletedAt === undefined && (read === undefined || at > read),
          );
          expect(unread).to.equal(expected.length);
          expect(last_read_at).to.equal(read === undefined ? null : new Date(read).toISOString());
        }
      }),
      { numRuns: 200 },
    );
  });
});
