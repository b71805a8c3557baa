import { expect } from 'chai';
import fc from 'fast-check';
import {
  type Inbox,
  type InboxEvent,
  inboxStream,
  markNotificationsRead,
  READ_CHUNK,
  raiseNotification,
} from '../../../domain/notifications/inbox.ts';
import { given } from '../../support/given.ts';

const raise = (id: string) => ({
  notification_id: id,
  recipient_user_id: 'bob',
  kind: 'message_mention' as const,
  actor_user_id: 'ann',
  subject_kind: 'conversation' as const,
  subject_id: 'c1',
  note_id: 'm1',
  snippet: 'hello',
  snippet_key: 'message-m1',
});
const raised = (...ids: string[]): InboxEvent[] =>
  ids.map((id) => ({ type: 'NotificationRaised', data: raise(id) }));
const read = (...notification_ids: string[]): InboxEvent => ({
  type: 'NotificationsRead',
  data: { recipient_user_id: 'bob', notification_ids },
});

describe('An inbox', () => {
  it('raises a notification with all that its reader needs', () => {
    given(inboxStream)
      .when((state) => raiseNotification(state, raise('n1')))
      .gives({
        type: 'NotificationRaised',
        data: {
          notification_id: 'n1',
          recipient_user_id: 'bob',
          kind: 'message_mention',
          actor_user_id: 'ann',
          subject_kind: 'conversation',
          subject_id: 'c1',
          note_id: 'm1',
          snippet: 'hello',
          snippet_key: 'message-m1',
        },
      });
  });

  it('raises a notification once, also when it was read meanwhile', () => {
    const first = { ...raise('n1'), source_position: '0005' };
    given(inboxStream, { type: 'NotificationRaised', data: first }, read('n1'))
      .when((state) => raiseNotification(state, first))
      .givesNothing();
  });

  it('refuses a notification while the notification before it is missing', () => {
    const second = { ...raise('n2'), source_position: '0007' };
    given(inboxStream)
      .when((state) => raiseNotification(state, second, '0005'))
      .isRefused('unavailable');
    given(inboxStream, { type: 'NotificationRaised', data: { ...raise('n1'), source_position: '0005' } })
      .when((state) => raiseNotification(state, second, '0005'))
      .gives({ type: 'NotificationRaised', data: second });
  });

  it('keeps the parts of its state that an event does not change', () => {
    const ids = Array.from({ length: 1000 }, (_, n) => `n${n}`);
    const { state } = given(inboxStream, ...raised(...ids));
    const marked = inboxStream.evolve(state, read('n999', 'nobody'), { at: 0, revision: 1000 });
    expect(marked.unread.flat()).to.deep.equal(ids.slice(0, -1));
    expect(marked.unread[0]).to.equal(state.unread[0]);
  });

  it('marks the unread notifications among the given ids', () => {
    given(inboxStream, ...raised('n1', 'n2', 'n3'), read('n2'))
      .when((state) => markNotificationsRead(state, { userId: 'bob', ids: ['n3', 'n2', 'nobody', 'n3'] }))
      .gives(read('n3'));
  });

  it('marks all, and then nothing more', () => {
    const story = given(inboxStream, ...raised('n1', 'n2'));
    const all = (state: Inbox) => markNotificationsRead(state, { userId: 'bob' });
    story.when(all).gives(read('n1', 'n2'));
    story.when(all).thenAgainNothing();
    given(inboxStream).when(all).givesNothing();
  });

  it('marks in events of bounded size', () => {
    const ids = Array.from({ length: READ_CHUNK + 1 }, (_, n) => `n${n}`);
    const events = markNotificationsRead({ unread: [ids], raisedTo: {} }, { userId: 'bob' });
    expect(
      events.map((event) => event.type === 'NotificationsRead' && event.data.notification_ids.length),
    ).to.deep.equal([READ_CHUNK, 1]);
  });

  it('counts exactly the changed notifications, for any sequence of commands', () => {
    const asks = fc.array(
      fc.oneof(
        fc.record({
          userId: fc.constant('bob'),
          ids: fc.array(fc.integer({ max: 12, min: 0 }).map((n) => `n${n}`)),
        }),
        fc.constant({ userId: 'bob' }),
      ),
    );
    fc.assert(
      fc.property(fc.nat(10), asks, (count, commands) => {
        let state: Inbox = given(
          inboxStream,
          ...raised(...Array.from({ length: count }, (_, n) => `n${n}`)),
        ).state;
        let marked = 0;
        for (const command of commands) {
          const before = state.unread.flat().length;
          for (const event of markNotificationsRead(state, command)) {
            if (event.type === 'NotificationsRead') marked += event.data.notification_ids.length;
            state = inboxStream.evolve(state, event, { at: 0, revision: 0 });
          }
          expect(markNotificationsRead(state, command)).to.deep.equal([]);
          expect(state.unread.flat().length).to.be.at.most(before);
        }
        expect(marked).to.equal(count - state.unread.flat().length);
      }),
    );
  });
});
