import { expect } from 'chai';
import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import { Notifications } from '../../../application/notifications/notifications.ts';
import { type EventStore, EventTooLarge } from '../../../application/ports/event-store.ts';
import { inboxStream, MARKED_TOGETHER } from '../../../domain/notifications/inbox.ts';
import { causeOf } from '../../support/book.ts';
import { memoryStores, startNode } from '../../support/node.ts';

/** The limit of an append to EventStoreDB. */
const MAX_APPEND_BYTES = 1024 * 1024;
const UNREAD = MARKED_TOGETHER + 10_000;
const RAISED_TOGETHER = 1000;

const limited = (events: EventStore): EventStore => ({
  ...events,
  append: async (stream, expected, added) => {
    const bytes = added.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
    if (bytes > MAX_APPEND_BYTES) throw new EventTooLarge(`an append of ${bytes} bytes`);
    return events.append(stream, expected, added);
  },
});

describe('Notifications', () => {
  it('are all marked once when there are more than fit into one append, also by a retry', async () => {
    const stores = memoryStores();
    const node = startNode({ ...stores, events: limited(stores.events) });
    for (let first = 0; first < UNREAD; first += RAISED_TOGETHER) {
      await node.commands.execute({
        tenantId: 'acme',
        type: inboxStream,
        id: 'bob',
        cause: causeOf(`raise-${first}`),
        decide: () =>
          Array.from({ length: RAISED_TOGETHER }, () => ({
            type: 'NotificationRaised' as const,
            data: {
              notification_id: node.ids.next(),
              recipient_user_id: 'bob',
              kind: 'message_mention' as const,
              actor_user_id: 'ann',
              subject_kind: 'conversation' as const,
              subject_id: 'c1',
              note_id: 'm1',
              snippet: '',
              snippet_key: 'message-m1',
            },
          })),
      });
    }
    const notifications = new Notifications({ ...node, end: () => node.events.end() });
    const keyed: RequestContext = {
      cause: causeOf('mark'),
      priorAttempt: { since: 0 },
      newId: () => node.ids.next(),
    };
    const markAll = () => notifications.markRead('acme', 'bob', { all: true }, keyed);
    expect((await markAll()).marked).to.equal(UNREAD);
    const end = await node.events.end();
    expect(await markAll()).to.deep.equal({ marked: UNREAD, position: end });
    expect(await node.events.end()).to.equal(end);
    const { state } = await node.states.load('acme', inboxStream, 'bob');
    expect(state.unread).to.deep.equal([]);
  }).timeout(20_000);
});
