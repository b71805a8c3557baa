import { useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../../../../client/src/index.ts';
import { Tile, useLive, usePages, useRead } from '../../kit/index.ts';

const DAY_MS = 86_400_000;
/** Maximum of subscriptions whose deliveries are counted, and of deliveries of each. */
const SUBSCRIPTIONS = 10;
const DELIVERIES = 200;

/**
 * Tiles for every person: messages, notifications, webhooks, failed postings. Envelopes refresh messages and
 * notifications while this page is open, so that both are read again when it is opened again.
 */
export const PersonTiles = () => {
  const queries = useQueryClient();
  const refresh = (): void => {
    void queries.invalidateQueries({ queryKey: ['unread'] });
  };
  useLive({ onEnvelopes: refresh, onGap: refresh });
  return (
    <>
      <Messages />
      <Notifications />
      <Webhooks />
      <PostingFailures />
    </>
  );
};

const Messages = () => {
  const conversations = usePages(
    ['unread', 'conversations'],
    (client, limit) =>
      client.items('/api/v1/tenant/messaging/conversations', { params: { query: { limit } } }),
    { size: 200, stale: 0 },
  );
  const all = conversations.data?.pages.flatMap(({ items }) => items);
  const unread = all?.reduce((sum, { unread_count }) => sum + unread_count, 0);
  const affected = all?.filter((each) => each.unread_count > 0).length;
  return (
    <Tile
      label="Unread messages"
      value={
        unread === undefined ? undefined : `${unread.toLocaleString()}${conversations.hasNextPage ? '+' : ''}`
      }
      error={conversations.error}
      detail={
        affected === undefined
          ? undefined
          : `in ${affected} ${affected === 1 ? 'conversation' : 'conversations'}`
      }
      to="/messages"
    />
  );
};

const Notifications = () => {
  const count = useRead(
    ['unread', 'notifications'],
    (client, signal) => client.get('/api/v1/tenant/notifications/unread-count', { signal }),
    { stale: 0 },
  );
  return (
    <Tile
      label="Unread notifications"
      value={count.data?.unread.toLocaleString()}
      error={count.error}
      detail="mentions of you"
      to="/notifications"
    />
  );
};

const Webhooks = () => {
  const figures = useRead(
    ['webhooks', 'success'],
    async (client, signal) => {
      const subscriptions = await client.get('/api/v1/tenant/webhooks', {
        params: { query: { limit: SUBSCRIPTIONS } },
        signal,
      });
      const from = new Date(Date.now() - DAY_MS).toISOString();
      const lists = await Promise.all(
        subscriptions.map(({ id }) =>
          client.get('/api/v1/tenant/webhooks/{id}/deliveries', {
            params: { path: { id }, query: { limit: DELIVERIES, from } },
            signal,
          }),
        ),
      );
      const deliveries = lists.flat();
      return {
        subscriptions: `${subscriptions.length}${subscriptions.length < SUBSCRIPTIONS ? '' : '+'}`,
        isAll: subscriptions.length < SUBSCRIPTIONS && lists.every(({ length }) => length < DELIVERIES),
        paused: subscriptions.filter(({ state }) => state === 'paused').length,
        ended: deliveries.filter(({ status }) => status !== 'pending').length,
        delivered: deliveries.filter(({ status }) => status === 'delivered').length,
      };
    },
    { every: 30_000 },
  );
  // 403: the plan has no webhooks.
  if (figures.error instanceof ApiError && figures.error.status === 403) return null;
  const { data } = figures;
  const share = data === undefined || data.ended === 0 ? undefined : (100 * data.delivered) / data.ended;
  return (
    <Tile
      label="Webhooks delivered, 24 h"
      error={figures.error}
      value={data === undefined ? undefined : share === undefined ? '–' : `${Math.floor(share * 10) / 10} %`}
      detail={
        data === undefined
          ? undefined
          : `${data.delivered} of ${data.ended}${data.isAll ? '' : '+'} · ${data.subscriptions} subscriptions${data.paused > 0 ? `, ${data.paused} paused` : ''}`
      }
      to="/webhooks"
    />
  );
};

const PostingFailures = () => {
  const failures = useRead(
    ['posting-failures', 'open'],
    async (client, signal) => {
      const newest = await client.get('/api/v1/tenant/gl/posting-failures', {
        params: { query: { limit: 200 } },
        signal,
      });
      const open = newest.filter(({ resolved_at }) => resolved_at === undefined).length;
      return { open, isAll: newest.length < 200 };
    },
    { every: 30_000 },
  );
  // 402: the tenant has no ledger.
  if (failures.error instanceof ApiError && failures.error.status === 402) return null;
  const { data } = failures;
  return (
    <Tile
      label="Open posting failures"
      error={failures.error}
      value={data === undefined ? undefined : `${data.open}${data.isAll ? '' : '+'}`}
      detail={data?.open === 0 ? 'every rule was applied' : 'rules that could not post'}
      to="/ledger/failures"
    />
  );
};
