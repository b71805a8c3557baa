import { MessageSquarePlus } from 'lucide-react';
import { useParams } from 'wouter';
import { DialogButton, Empty, Page } from '../../kit/index.ts';
import { useLiveConversations } from './conversations.ts';
import { ConversationList } from './list.tsx';
import { StartConversation } from './start.tsx';
import { Thread } from './thread.tsx';
import '../../styles/messages.css';

/** The list of conversations next to the open conversation; a narrow page shows one of the two. */
export default function Messages() {
  const { id } = useParams();
  useLiveConversations();
  return (
    <Page
      title="Messages"
      actions={
        <DialogButton tone="primary" dialog={(close) => <StartConversation onClose={close} />}>
          <MessageSquarePlus size={16} aria-hidden />
          New conversation
        </DialogButton>
      }
    >
      <div className="card talk" data-open={id !== undefined}>
        <ConversationList open={id} />
        {id === undefined ? (
          <div className="talk-none">
            <Empty title="No conversation is open">
              <p>Choose one, or start a new one.</p>
            </Empty>
          </div>
        ) : (
          <Thread key={id} id={id} />
        )}
      </div>
    </Page>
  );
}
