import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  Badge,
  Button,
  Card,
  Empty,
  Failed,
  Page,
  Pending,
  Time,
  useAction,
  useFilters,
  usePages,
  usePeople,
} from '../../kit/index.ts';
import '../../styles/messages.css';

type Notification = components['schemas']['Notification'];

const pathOf = ({ subject_kind: kind, subject_id: id }: Notification): string => {
  switch (kind) {
    case 'conversation':
      return `/messages/${id}`;
    case 'entity':
      return `/records/by-id/${id}`;
    default:
      return kind satisfies never;
  }
};

const KINDS = { message_mention: 'in a message', note_mention: 'in a note' } as const;

/** Mentions of the reader, newest first. */
export default function Notifications() {
  const filters = useFilters(['unread']);
  const isUnread = filters.of('unread') === 'true';
  const read = usePages(['notifications', 'list', isUnread], (client, limit) =>
    client.items('/api/v1/tenant/notifications', {
      params: { query: { limit, unread: isUnread ? 'true' : 'false' } },
    }),
  );
  const mark = useAction(
    (client, body: { ids: string[] } | { all: true }) =>
      client.post('/api/v1/tenant/notifications/mark-read', { body }),
    { invalidates: [['notifications'], ['unread']] },
  );
  const people = usePeople();
  const nameOf = (email: string): string =>
    people.data?.find((person) => person.email === email)?.display_name ?? email;
  const items = read.data?.pages.flatMap((page) => page.items);
  const open = items?.filter(({ read_at }) => read_at === null).length ?? 0;
  return (
    <Page
      title="Notifications"
      about="Messages and notes that mention you."
      actions={
        <Button onClick={() => mark.mutate({ all: true })} disabled={open === 0 && !read.hasNextPage}>
          Mark all as read
        </Button>
      }
    >
      <Card flush>
        <search className="filters card-body" aria-label="Filters of the notifications">
          <label className="choice">
            <input
              type="checkbox"
              checked={isUnread}
              onChange={({ target }) => filters.set('unread', target.checked ? 'true' : '')}
            />
            Unread only
          </label>
        </search>
        {items === undefined || read.error !== null ? (
          <div className="card-body">
            {items === undefined ? <Pending of={read} what="notifications" /> : <Failed of={read} />}
          </div>
        ) : null}
        {items?.length === 0 ? <Empty title={isUnread ? 'Everything is read' : 'No mentions yet'} /> : null}
        <ul className="feed notifications">
          {items?.map((one) => (
            <li key={one.id}>
              <span className="notification">
                <Link
                  href={pathOf(one)}
                  onClick={() => (one.read_at === null ? mark.mutate({ ids: [one.id] }) : undefined)}
                >
                  {one.actor_email === '' ? 'A program' : nameOf(one.actor_email)} {KINDS[one.kind]}
                </Link>
                <span className="notification-text">{one.snippet}</span>
              </span>
              <span className="row small muted">
                {one.read_at === null ? <Badge tone="info">New</Badge> : null}
                <Time at={one.created_at} relative />
                {one.read_at === null ? (
                  <Button size="small" tone="ghost" onClick={() => mark.mutate({ ids: [one.id] })}>
                    Mark as read
                  </Button>
                ) : null}
              </span>
            </li>
          ))}
        </ul>
        {read.hasNextPage ? (
          <p className="card-body">
            <Button onClick={() => void read.fetchNextPage()} disabled={read.isFetchingNextPage}>
              More
            </Button>
          </p>
        ) : null}
      </Card>
    </Page>
  );
}
