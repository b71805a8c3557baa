import { conversations, type Message, messages } from './shapes.ts';
import { BASE, type Member } from './world.ts';

/** All messages of a conversation, oldest first, read by the links to older pages. */
export const allMessages = async (reader: Member, conversationId: string): Promise<Message[]> => {
  const found: Message[] = [];
  let path: string | undefined = `${BASE}/${conversationId}/messages?limit=200`;
  while (path !== undefined) {
    const answer = await reader.api.get(path);
    found.unshift(...answer.as(messages));
    path = /^<([^>]+)>/.exec(answer.header('link') ?? '')?.[1];
  }
  return found;
};

/** The entry of one conversation in the list. */
export const listed = async (who: Member, conversationId: string) => {
  const list = (await who.api.get(`${BASE}?limit=200`)).as(conversations);
  const found = list.find(({ id }) => id === conversationId);
  if (found === undefined) throw new Error('the conversation is not in the list');
  return found;
};

/**
 * The specification's definition: messages that are not the caller's own, not deleted, and have created_at later than
 * the caller's last_read_at.
 */
export const unreadByDefinition = (
  userId: string,
  lastReadAt: string | null,
  history: readonly Message[],
): number =>
  history.filter(
    (message) =>
      message.sender_user_id !== userId &&
      message.deleted_at === null &&
      (lastReadAt === null || message.created_at > lastReadAt),
  ).length;
