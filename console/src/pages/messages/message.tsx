import { useQueryClient } from '@tanstack/react-query';
import { MoreHorizontal } from 'lucide-react';
import { useState } from 'react';
import {
  Button,
  ConfirmItem,
  IconButton,
  MentionField,
  MentionText,
  Menu,
  MenuItem,
  Problem,
  Time,
  useAction,
  useMentions,
} from '../../kit/index.ts';
import { type Message, replaceMessage } from './messages.ts';

interface MessageProps {
  readonly message: Message;
  readonly conversation: string;
  /** Undefined for a message that soon follows another message of the same person. */
  readonly sender: string | undefined;
  readonly isOwn: boolean;
  readonly self: string;
}

export const MessageRow = ({ message, conversation, sender, isOwn, self }: MessageProps) => {
  const [isEditing, setEditing] = useState(false);
  const { body, created_at, edited_at } = message;
  return (
    <div className="message" data-own={isOwn}>
      {sender === undefined ? null : (
        <p className="message-head">
          <strong>{isOwn ? 'You' : sender}</strong>{' '}
          <span className="small muted">
            <Time at={created_at} relative />
          </span>
        </p>
      )}
      {isEditing ? (
        <Edit message={message} conversation={conversation} onClose={() => setEditing(false)} />
      ) : (
        <div className="message-line">
          {body === undefined ? (
            <p className="message-body muted">This message was deleted.</p>
          ) : (
            <p className="message-body">
              <MentionText text={body} self={self} />
              {edited_at === null ? null : <span className="small muted"> (edited)</span>}
            </p>
          )}
          {isOwn && body !== undefined ? (
            <Actions message={message} conversation={conversation} onEdit={() => setEditing(true)} />
          ) : null}
        </div>
      )}
    </div>
  );
};

interface ActionsProps {
  readonly message: Message;
  readonly conversation: string;
  readonly onEdit: () => void;
}

const Actions = ({ message, conversation, onEdit }: ActionsProps) => {
  const queries = useQueryClient();
  const remove = useAction((client) =>
    client.delete('/api/v1/tenant/messaging/conversations/{id}/messages/{mid}', {
      params: { path: { id: conversation, mid: message.id } },
    }),
  );
  return (
    <Menu
      trigger={<IconButton label="Actions for the message" icon={<MoreHorizontal size={16} aria-hidden />} />}
    >
      <MenuItem onSelect={onEdit}>Edit</MenuItem>
      <ConfirmItem
        tone="danger"
        ask={{
          title: 'Delete the message?',
          consequence:
            'Its text is erased for everyone, also from the log and from notifications. The conversation still shows that there was a message. This cannot be undone.',
          action: 'Delete message',
          run: async () => replaceMessage(queries, conversation, await remove.mutateAsync()),
        }}
      >
        Delete
      </ConfirmItem>
    </Menu>
  );
};

interface EditProps {
  readonly message: Message;
  readonly conversation: string;
  readonly onClose: () => void;
}

const Edit = ({ message, conversation, onClose }: EditProps) => {
  const mentions = useMentions();
  const queries = useQueryClient();
  const [text, setText] = useState(() => mentions.shown(message.body ?? ''));
  const save = useAction((client, body: string) =>
    client.patch('/api/v1/tenant/messaging/conversations/{id}/messages/{mid}', {
      params: { path: { id: conversation, mid: message.id } },
      body: { body },
    }),
  );
  const submit = async (): Promise<void> => {
    if (save.isPending || text.trim() === '') return;
    try {
      replaceMessage(queries, conversation, await save.mutateAsync(mentions.sent(text)));
      onClose();
    } catch {
      // The error is shown below the text.
    }
  };
  return (
    <div className="stack">
      <MentionField
        label="The message"
        value={text}
        onChange={setText}
        onEnter={() => void submit()}
        onEscape={onClose}
        mentions={mentions}
        placement="above"
        autoFocus
      />
      {save.error === null ? null : <Problem error={save.error} />}
      <div className="row">
        <Button size="small" tone="primary" onClick={() => void submit()}>
          {save.isPending ? 'Saving…' : 'Save'}
        </Button>
        <Button size="small" onClick={onClose}>
          Cancel
        </Button>
        <span className="small muted">Nobody is notified of an edit.</span>
      </div>
    </div>
  );
};
