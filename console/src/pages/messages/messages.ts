import {
  type InfiniteData,
  type QueryClient,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
} from '@tanstack/react-query';
import type { components } from '../../../../client/src/index.ts';
import { useClient, useTenant } from '../../kit/index.ts';

export type Message = components['schemas']['Message'];

const PAGE = 50;
/** Interval (ms) of re-reading the newest pages: the socket sends no edits and deletions. */
const AGAIN_MS = 20_000;
const FEW_PAGES = 3;

type Pages = InfiniteData<readonly Message[], string | undefined>;

const keyOf = (conversation: string) => ['messages', conversation] as const;

/** The messages of a conversation; the first page is the newest one, each page has its oldest message first. */
export const useMessages = (conversation: string): UseInfiniteQueryResult<Pages, Error> => {
  const client = useClient();
  const tenant = useTenant();
  // Under impersonation each request is recorded in the log, so messages are not polled.
  const isPolled = tenant !== undefined && tenant.impersonatedBy === undefined;
  return useInfiniteQuery({
    queryKey: keyOf(conversation),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.get('/api/v1/tenant/messaging/conversations/{id}/messages', {
        params: {
          path: { id: conversation },
          query: { limit: PAGE, ...(pageParam === undefined ? {} : { before: pageParam }) },
        },
        signal,
      }),
    getNextPageParam: (last) => (last.length < PAGE ? undefined : last[0]?.id),
    staleTime: 0,
    refetchInterval: ({ state }) =>
      isPolled && (state.data?.pages.length ?? 0) <= FEW_PAGES ? AGAIN_MS : false,
  });
};

/** Inserts a message at its place. @returns false when it is already there */
export const addMessage = (queries: QueryClient, conversation: string, message: Message): boolean => {
  let isNew = true;
  queries.setQueryData<Pages>(keyOf(conversation), (before) => {
    const [newest = [], ...older] = before?.pages ?? [];
    if (before === undefined) return before;
    if (before.pages.some((page) => page.some(({ id }) => id === message.id))) {
      isNew = false;
      return before;
    }
    const first = [...newest, message].sort((one, other) => one.created_at.localeCompare(other.created_at));
    return { ...before, pages: [first, ...older] };
  });
  return isNew;
};

/** Shows an edited or deleted message. */
export const replaceMessage = (queries: QueryClient, conversation: string, message: Message): void => {
  queries.setQueryData<Pages>(keyOf(conversation), (before) =>
    before === undefined
      ? before
      : {
          ...before,
          pages: before.pages.map((page) => page.map((one) => (one.id === message.id ? message : one))),
        },
  );
};
