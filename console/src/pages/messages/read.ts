import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { useClient } from '../../kit/index.ts';
import { type Conversation, showRead } from './conversations.ts';

/** Minimum time (ms) between two read marks of an open conversation. */
const LEAST_MS = 2000;

const useIsVisible = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      document.addEventListener('visibilitychange', listener);
      return () => document.removeEventListener('visibilitychange', listener);
    },
    () => !document.hidden,
  );

/** Marks the conversation that is open as read, unless its page is in the background. */
export const useMarkRead = (conversation: Conversation | undefined): void => {
  const client = useClient();
  const queries = useQueryClient();
  const isVisible = useIsVisible();
  const last = useRef(0);
  const id = conversation?.id;
  const unread = conversation?.unread_count ?? 0;
  useEffect(() => {
    if (id === undefined || unread === 0 || !isVisible) return;
    const timer = setTimeout(
      () => {
        last.current = Date.now();
        client.post('/api/v1/tenant/messaging/conversations/{id}/read', { params: { path: { id } } }).then(
          () => showRead(queries, id, unread),
          // The conversation stays unread, and is marked as read with the next message.
          () => undefined,
        );
      },
      Math.max(0, last.current + LEAST_MS - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [client, queries, id, unread, isVisible]);
};
