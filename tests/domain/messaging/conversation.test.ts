import { expect } from 'chai';
import {
  type ConversationEvent,
  checkBody,
  conversationStream,
  deleteMessage,
  editMessage,
  type MessageFacts,
  markRead,
  sendMessage,
  startConversation,
} from '../../../domain/messaging/conversation.ts';
import { BEGINNING, given, type Past, refusal } from '../../support/given.ts';

const started: Past<ConversationEvent> = {
  type: 'ConversationStarted',
  data: { conversation_id: 'c1', dm_key: 'key', participant_user_ids: ['ann', 'bob'] },
  at: BEGINNING,
};
const sent: Past<ConversationEvent> = {
  type: 'MessageSent',
  data: { conversation_id: 'c1', message_id: 'm1', sender_user_id: 'ann', body: 'x', mentioned_user_ids: [] },
  at: BEGINNING + 1000,
};
const readAt = (at: number): Past<ConversationEvent> => ({
  type: 'ConversationRead',
  data: { conversation_id: 'c1', user_id: 'bob' },
  at,
});

const message = {
  messageId: 'm2',
  textKey: 'message-p.1',
  senderId: 'ann',
  storedBody: 'hello',
  mentioned: ['bob'],
};
const facts: MessageFacts = {
  messageId: 'm1',
  textKey: 'message-p.0',
  senderId: 'ann',
  sentAt: BEGINNING + 1000,
  editedAt: undefined,
  deletedAt: undefined,
};
const gone = { ...facts, deletedAt: BEGINNING + 2000 };

describe('A conversation', () => {
  describe('The start', () => {
    const start = { conversationId: 'c1', dmKey: 'key', participants: ['ann', 'bob'] };
    it('gives one event', () => {
      given(conversationStream)
        .when((state) => startConversation(state, start))
        .gives({
          type: 'ConversationStarted',
          data: { conversation_id: 'c1', dm_key: 'key', participant_user_ids: ['ann', 'bob'] },
        });
    });
    it('gives no events when repeated', () => {
      given(conversationStream)
        .when((state) => startConversation(state, start))
        .thenAgainNothing();
      given(conversationStream, started)
        .when((state) => startConversation(state, start))
        .givesNothing();
    });
  });

  describe('A sent message', () => {
    it('comes from a participant', () => {
      given(conversationStream, started)
        .when((state, context) => sendMessage(state, message, context), BEGINNING + 5)
        .gives({
          type: 'MessageSent',
          data: {
            conversation_id: 'c1',
            message_id: 'm2',
            sender_user_id: 'ann',
            body: 'hello',
            text_key: 'message-p.1',
            mentioned_user_ids: ['bob'],
          },
          at: BEGINNING + 5,
        });
    });
    it('gets a time after the last read of any participant', () => {
      const [event] = given(conversationStream, started, readAt(BEGINNING + 9), readAt(BEGINNING + 9))
        .when((state, context) => sendMessage(state, message, context), BEGINNING + 9)
        .events();
      expect(event?.at).to.equal(BEGINNING + 10);
    });
    it('gets the present time when the last read is earlier', () => {
      const [event] = given(conversationStream, started, readAt(BEGINNING + 9))
        .when((state, context) => sendMessage(state, message, context), BEGINNING + 50)
        .events();
      expect(event?.at).to.equal(BEGINNING + 50);
    });
    it('needs a conversation and a participant', () => {
      given(conversationStream)
        .when((state, context) => sendMessage(state, message, context))
        .isRefused('not_found');
      given(conversationStream, started)
        .when((state, context) => sendMessage(state, { ...message, senderId: 'eve' }, context))
        .isRefused('not_a_participant');
    });
  });

  describe('An edit of a message', () => {
    const edit = (userId: string, about: MessageFacts | undefined) => ({
      userId,
      message: about,
      storedBody: 'new',
    });
    it('is allowed to its sender', () => {
      given(conversationStream, started, sent)
        .when((state) => editMessage(state, edit('ann', facts)))
        .gives({
          type: 'MessageEdited',
          data: { conversation_id: 'c1', message_id: 'm1', body: 'new', text_key: 'message-p.0' },
        });
    });
    it('is refused to others', () => {
      const story = given(conversationStream, started, sent);
      story.when((state) => editMessage(state, edit('bob', facts))).isRefused('not_the_sender');
      story.when((state) => editMessage(state, edit('eve', facts))).isRefused('not_a_participant');
      story.when((state) => editMessage(state, edit('ann', undefined))).isRefused('not_found');
      given(conversationStream)
        .when((state) => editMessage(state, edit('ann', facts)))
        .isRefused('not_found');
    });
    it('is refused after the deletion of the message', () => {
      given(conversationStream, started, sent)
        .when((state) => editMessage(state, edit('ann', gone)))
        .isRefused('invalid_transition', { state: 'deleted', allowed: [] });
    });
  });

  describe('A deletion of a message', () => {
    it('is allowed to the sender, and its event has the sender and time of the message', () => {
      given(conversationStream, started, sent)
        .when((state) => deleteMessage(state, { userId: 'ann', message: facts }))
        .gives({
          type: 'MessageDeleted',
          data: {
            conversation_id: 'c1',
            message_id: 'm1',
            sender_user_id: 'ann',
            sent_at: '2026-01-01T00:00:01.000Z',
            text_key: 'message-p.0',
          },
        });
    });
    it('gives no events when repeated', () => {
      given(conversationStream, started, sent)
        .when((state) => deleteMessage(state, { userId: 'ann', message: gone }))
        .givesNothing();
    });
    it('is refused to others, also after a deletion', () => {
      const story = given(conversationStream, started, sent);
      story
        .when((state) => deleteMessage(state, { userId: 'bob', message: facts }))
        .isRefused('not_the_sender');
      story
        .when((state) => deleteMessage(state, { userId: 'bob', message: gone }))
        .isRefused('not_the_sender');
      story
        .when((state) => deleteMessage(state, { userId: 'ann', message: undefined }))
        .isRefused('not_found');
    });
  });

  describe('A read mark', () => {
    it('is set by a participant each time', () => {
      for (const history of [[started], [started, sent, readAt(BEGINNING + 3000)]]) {
        given(conversationStream, ...history)
          .when((state) => markRead(state, 'bob'))
          .gives({ type: 'ConversationRead', data: { conversation_id: 'c1', user_id: 'bob' } });
      }
    });
    it('is refused to others, and before the start', () => {
      given(conversationStream, started)
        .when((state) => markRead(state, 'eve'))
        .isRefused('not_a_participant');
      given(conversationStream)
        .when((state) => markRead(state, 'bob'))
        .isRefused('not_found');
    });
  });

  it('keeps a state that does not grow with messages', () => {
    const many = Array.from({ length: 200 }, (_, n) => ({ ...sent, at: BEGINNING + n }));
    const few = given(conversationStream, started).state;
    expect(given(conversationStream, started, ...many).state).to.deep.equal(few);
  });

  describe('The check of a body', () => {
    const refused = (body: string) => {
      const { code, details } = refusal(() => checkBody(body));
      expect(code).to.equal('validation_failed');
      expect(details?.field).to.equal('body');
      return details;
    };
    it('accepts 1 to 10,000 code points', () => {
      for (const body of ['x', 'x'.repeat(10_000), '😀'.repeat(10_000)]) checkBody(body);
      for (const body of ['', 'x'.repeat(10_001), '😀'.repeat(10_001), `${'😀'.repeat(10_000)}x`])
        refused(body);
    });
    it('refuses a blank text', () => {
      for (const body of [' ', '\n\t', '\u00a0\u2003', '\ufeff']) refused(body);
    });
    it('refuses NUL and lone surrogates', () => {
      for (const body of ['a\u0000b', '\ud83d', 'x\ude00', '\ude00\ud83d']) refused(body);
    });
  });
});
