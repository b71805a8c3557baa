import { Link } from 'wouter';
import { Button, Empty, Failed, Pending, Time } from '../../kit/index.ts';
import { titleOf, useConversations, useSelf } from './conversations.ts';

/** Conversations with their unread counts, newest activity first. */
export const ConversationList = ({ open }: { open: string | undefined }) => {
  const read = useConversations();
  const self = useSelf();
  const items = read.data?.pages.flatMap((page) => page.items);
  return (
    <nav className="talk-list" aria-label="Conversations">
      {items === undefined ? (
        <div className="card-body">
          <Pending of={read} what="conversations" />
        </div>
      ) : (
        <Failed of={read} />
      )}
      {items?.length === 0 ? (
        <Empty title="No conversation yet">
          <p>Start one with people of your tenant.</p>
        </Empty>
      ) : null}
      <ul>
        {items?.map((conversation) => {
          const { id, unread_count: unread, last_message_at: last } = conversation;
          return (
            <li key={id}>
              <Link
                href={`/messages/${id}`}
                aria-current={id === open ? 'page' : undefined}
                data-unread={unread > 0}
              >
                <span className="truncate">{titleOf(conversation, self)}</span>
                {unread === 0 ? null : (
                  <span className="talk-count">
                    {unread > 999 ? '999+' : unread}
                    <span className="hidden-text"> unread</span>
                  </span>
                )}
                <span className="small muted">
                  {last === null ? 'no message yet' : <Time at={last} relative />}
                </span>
              </Link>
            </li>
          );
        })}
      </ul>
      {read.hasNextPage ? (
        <Button tone="ghost" onClick={() => void read.fetchNextPage()} disabled={read.isFetchingNextPage}>
          More conversations
        </Button>
      ) : null}
    </nav>
  );
};
