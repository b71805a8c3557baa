import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Bell as BellIcon } from 'lucide-react';
import { Link } from 'wouter';
import { useLive } from '../kit/use-live.ts';
import { clientOf } from '../session/clients.ts';
import type { TenantSession } from '../session/store.ts';

/** Link to the notifications, with the number of unread ones. */
export const Bell = ({ tenant }: { tenant: TenantSession }) => {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: ['notifications', 'count'],
    queryFn: ({ signal }) => clientOf(tenant).get('/api/v1/tenant/notifications/unread-count', { signal }),
    // Polled, since the socket sends nothing when another page marks notifications as read. Under impersonation each
    // request is recorded in the log, so the count is not polled.
    refetchInterval: tenant.impersonatedBy === undefined ? 60_000 : false,
  });
  const readAgain = (): void => {
    void queries.invalidateQueries({ queryKey: ['notifications'] });
  };
  useLive({
    onGap: readAgain,
    onEnvelopes: (envelopes) => {
      if (envelopes.some(({ kind }) => kind === 'notification')) readAgain();
    },
  });
  const unread = data?.unread ?? 0;
  const label = unread === 0 ? 'Notifications' : `Notifications: ${unread} unread`;
  return (
    <Link
      href="/notifications"
      className="button button-ghost button-icon bell"
      aria-label={label}
      title={label}
    >
      <BellIcon size={17} aria-hidden />
      {unread === 0 ? null : <span aria-hidden>{unread > 99 ? '99+' : unread}</span>}
    </Link>
  );
};
