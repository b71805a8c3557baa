import { ArrowLeft } from 'lucide-react';
import { Fragment, type UIEvent } from 'react';
import { Link } from 'wouter';
import { Button, Failed, Menu, MenuLabel, Pending } from '../../kit/index.ts';
import { Composer } from './composer.tsx';
import { type Conversation, titleOf, useConversation, useSelf } from './conversations.ts';
import { MessageRow } from './message.tsx';
import { type Message, useMessages } from './messages.ts';
import { useMarkRead } from './read.ts';

/** Distance (px) from the oldest message at which older ones are read. */
const NEAR = 300;
/** A pause (ms) after which a message shows sender and time again. */
const PAUSE_MS = 300_000;

/** One conversation: its messages and the composer. */
export const Thread = ({ id }: { id: string }) => {
  const conversation = useConversation(id);
  const messages = useMessages(id);
  const self = useSelf();
  useMarkRead(conversation.data);
  const { data } = conversation;
  if (data === undefined) {
    return (
      <div className="talk-thread card-body">
        <Pending of={conversation} what="the conversation" />
        <Link href="/messages">All conversations</Link>
      </div>
    );
  }
  const title = titleOf(data, self);
  const all = messages.data?.pages.toReversed().flat();
  const readOlder = (): void => {
    if (messages.hasNextPage && !messages.isFetching) void messages.fetchNextPage();
  };
  const onScroll = ({ currentTarget: box }: UIEvent): void => {
    // The box is reversed: `scrollTop` is 0 at its end and negative above.
    if (box.scrollHeight - box.clientHeight + box.scrollTop < NEAR) readOlder();
  };
  return (
    <section className="talk-thread" aria-label={`Conversation with ${title}`}>
      <header>
        <Link
          href="/messages"
          className="talk-back button button-ghost button-icon"
          aria-label="All conversations"
        >
          <ArrowLeft size={17} aria-hidden />
        </Link>
        <h2 className="truncate">{title}</h2>
        <Menu
          trigger={
            <Button size="small" tone="ghost">
              {data.participants.length} people
            </Button>
          }
        >
          {data.participants.map(({ user_id, display_name }) => (
            <MenuLabel key={user_id}>{display_name}</MenuLabel>
          ))}
        </Menu>
      </header>
      <div className="talk-box" onScroll={onScroll} tabIndex={0} role="log" aria-label="Messages">
        <div>
          {all === undefined ? <Pending of={messages} what="the messages" /> : <Failed of={messages} />}
          {messages.hasNextPage ? (
            <p className="talk-older">
              <Button size="small" tone="ghost" onClick={readOlder}>
                {messages.isFetchingNextPage ? 'Loading…' : 'Older messages'}
              </Button>
            </p>
          ) : null}
          {all === undefined ? null : all.length === 0 ? (
            <p className="talk-older muted">No messages yet.</p>
          ) : (
            <Messages messages={all} conversation={data} self={self} />
          )}
        </div>
      </div>
      <Composer conversation={id} title={title} />
    </section>
  );
};

interface MessagesProps {
  readonly messages: readonly Message[];
  readonly conversation: Conversation;
  readonly self: string;
}

const dayOf = (at: string): string => new Date(at).toLocaleDateString(undefined, { dateStyle: 'full' });

const Messages = ({ messages, conversation, self }: MessagesProps) => {
  const names = new Map(conversation.participants.map((one) => [one.user_id, one.display_name]));
  return messages.map((message, index) => {
    const before = messages[index - 1];
    const isDay = before === undefined || dayOf(before.created_at) !== dayOf(message.created_at);
    const follows =
      !isDay &&
      before.sender_user_id === message.sender_user_id &&
      Date.parse(message.created_at) - Date.parse(before.created_at) < PAUSE_MS;
    return (
      <Fragment key={message.id}>
        {isDay ? <p className="talk-day">{dayOf(message.created_at)}</p> : null}
        <MessageRow
          message={message}
          conversation={conversation.id}
          sender={follows ? undefined : (names.get(message.sender_user_id) ?? message.sender_user_id)}
          isOwn={message.sender_user_id === self}
          self={self}
        />
      </Fragment>
    );
  });
};
