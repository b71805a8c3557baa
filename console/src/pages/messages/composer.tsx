import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { SendHorizontal } from 'lucide-react';
import { useEffect, useState } from 'react';
import { IconButton, MentionField, Problem, useAction, useMentions } from '../../kit/index.ts';
import { addMessage } from './messages.ts';

/** Unsent texts by conversation; lost when the person signs out, as the caches are, or closes the page. */
const draftsOf = (queries: QueryClient): Map<string, string> => {
  const drafts = DRAFTS.get(queries) ?? new Map<string, string>();
  DRAFTS.set(queries, drafts);
  return drafts;
};
const DRAFTS = new WeakMap<QueryClient, Map<string, string>>();

/** Writes into a conversation. The text stays until the server has accepted it. */
export const Composer = ({ conversation, title }: { conversation: string; title: string }) => {
  const mentions = useMentions();
  const queries = useQueryClient();
  const drafts = draftsOf(queries);
  const [text, setText] = useState(drafts.get(conversation) ?? '');
  useEffect(() => {
    if (text === '') drafts.delete(conversation);
    else drafts.set(conversation, text);
  }, [drafts, conversation, text]);
  const send = useAction((client, body: string) =>
    client.post('/api/v1/tenant/messaging/conversations/{id}/messages', {
      params: { path: { id: conversation } },
      body: { body },
    }),
  );
  const submit = async (): Promise<void> => {
    if (send.isPending || text.trim() === '') return;
    try {
      const message = await send.mutateAsync(mentions.sent(text));
      addMessage(queries, conversation, message);
      // Text typed meanwhile is kept.
      setText((present) => (present === text ? '' : present));
    } catch {
      // The error is shown above the text.
    }
  };
  return (
    <div className="talk-write">
      {send.error === null ? null : <Problem error={send.error} />}
      <div>
        <MentionField
          label={`Message to ${title}`}
          placeholder="Write a message; @ mentions a person"
          value={text}
          onChange={setText}
          onEnter={() => void submit()}
          mentions={mentions}
          placement="above"
        />
        <IconButton
          label="Send"
          icon={<SendHorizontal size={17} aria-hidden />}
          onClick={() => void submit()}
          aria-disabled={send.isPending || text.trim() === ''}
        />
      </div>
      <p className="small muted">Enter sends the message, Shift+Enter starts a new line.</p>
    </div>
  );
};
