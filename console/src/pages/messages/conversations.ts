import { type InfiniteData, type QueryClient, useQueryClient } from '@tanstack/react-query';
import type { components, Envelope, MessageEnvelope } from '../../../../client/src/index.ts';
import { type Paged, type Read, useLive, usePages, useRead, useTenant } from '../../kit/index.ts';
import type { PageOf } from '../../kit/reads.ts';
import { addMessage } from './messages.ts';

export type Conversation = components['schemas']['ListedConversation'];

const LIST = ['conversations', 'list'] as const;
const oneKey = (id: string) => ['conversations', 'one', id] as const;

/** Answers are fresh only while the page is open, since no envelopes are taken while another page is. */
const OPEN = { stale: 0 } as const;

export const useConversations = (): Paged<Conversation> =>
  usePages(
    LIST,
    (client, limit) =>
      client.items('/api/v1/tenant/messaging/conversations', { params: { query: { limit } } }),
    OPEN,
  );

export const useConversation = (id: string): Read<Conversation> =>
  useRead(
    oneKey(id),
    (client, signal) =>
      client.get('/api/v1/tenant/messaging/conversations/{id}', { params: { path: { id } }, signal }),
    OPEN,
  );

/** The user that the page acts as. */
export const useSelf = (): string => useTenant()?.userId ?? '';

/** Names of the other participants of a conversation. */
export const titleOf = ({ participants }: Conversation, self: string): string => {
  const others = participants
    .filter(({ user_id }) => user_id !== self)
    .map(({ display_name }) => display_name);
  return others.length === 0 ? 'You' : others.join(', ');
};

type Listed = InfiniteData<PageOf<Conversation>>;

/**
 * Changes a conversation in the caches that hold it; `toTop` moves it to the top of the list. @returns whether the
 * list holds it
 */
const change = (
  queries: QueryClient,
  id: string,
  edit: (before: Conversation) => Conversation,
  toTop: boolean,
): boolean => {
  queries.setQueryData<Conversation>(oneKey(id), (before) => (before === undefined ? before : edit(before)));
  let isListed = false;
  queries.setQueryData<Listed>([...LIST, 'pages'], (before) => {
    const found = before?.pages.flatMap(({ items }) => items).find((one) => one.id === id);
    if (before === undefined || found === undefined) return before;
    isListed = true;
    const edited = edit(found);
    const pages = before.pages.map((page, index) => ({
      ...page,
      items: toTop
        ? [...(index === 0 ? [edited] : []), ...page.items.filter((one) => one.id !== id)]
        : page.items.map((one) => (one.id === id ? edited : one)),
    }));
    return { ...before, pages };
  });
  return isListed;
};

const isMessage = (envelope: Envelope): envelope is MessageEnvelope => envelope.kind === 'message';

/** Follows the socket: adds messages to conversations, moves the conversations to the top, counts unread messages. */
export const useLiveConversations = (): void => {
  const queries = useQueryClient();
  const self = useSelf();
  const readAgain = (): void => {
    void queries.invalidateQueries({ queryKey: ['conversations'] });
    void queries.invalidateQueries({ queryKey: ['messages'] });
  };
  useLive({
    onGap: readAgain,
    onEnvelopes: (envelopes) => {
      let isUnknown = false;
      for (const { conversation_id: id, message } of envelopes.filter(isMessage)) {
        // False for a message that the page shows already, for example from the answer to its own request.
        const isNew = addMessage(queries, id, { ...message, edited_at: null, deleted_at: null });
        const counts = isNew && message.sender_user_id !== self;
        const isListed = change(
          queries,
          id,
          (before) =>
            // A list that was read meanwhile includes the message in its count.
            before.last_message_at !== null && before.last_message_at >= message.created_at
              ? before
              : {
                  ...before,
                  last_message_at: message.created_at,
                  unread_count: before.unread_count + (counts ? 1 : 0),
                },
          true,
        );
        isUnknown ||= !isListed;
      }
      if (isUnknown) void queries.invalidateQueries({ queryKey: LIST });
    },
  });
};

/**
 * Shows messages of a conversation as read at once, without reading the list again. Those that came after the request
 * stay unread, and are marked next.
 */
export const showRead = (queries: QueryClient, id: string, read: number): void => {
  change(
    queries,
    id,
    (before) => ({ ...before, unread_count: Math.max(0, before.unread_count - read) }),
    false,
  );
  void queries.invalidateQueries({ queryKey: ['unread'] });
};
