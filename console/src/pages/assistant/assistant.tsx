import { FileText, Table2 } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { ApiError } from '../../../../client/src/index.ts';
import { Button, Card, ConfirmButton, Empty, Page, Problem, toast, useAction } from '../../kit/index.ts';
import { type Citation, historyOf, type Turn, useThread } from './thread.ts';
import '../../styles/assistant.css';

const MAX_LENGTH = 4000;

/** Questions about the tenant's records and files, with the sources of each answer. */
export default function Assistant() {
  const [turns, change] = useThread();
  const end = useRef<HTMLDivElement>(null);
  const ask = useAction((client, { question, before }: { question: string; before: readonly Turn[] }) =>
    client.post('/api/v1/tenant/ai/assistant/ask', {
      body: { message: question, history: historyOf(before) },
    }),
  );
  const run = async (question: string, key: number, before: readonly Turn[]): Promise<void> => {
    const set = (more: Partial<Turn>): void =>
      change((present) => present.map((turn) => (turn.key === key ? { key, question, ...more } : turn)));
    set({});
    try {
      const { reply, retrieved_chunks } = await ask.mutateAsync({ question, before });
      set({ reply, sources: retrieved_chunks });
    } catch (error) {
      set({ error });
    }
  };
  const begin = (question: string): void => {
    const key = (turns.at(-1)?.key ?? 0) + 1;
    change((present) => [...present, { key, question }]);
    void run(question, key, turns);
  };
  useEffect(() => {
    if (turns.length > 0) end.current?.scrollIntoView({ block: 'nearest' });
  }, [turns]);
  return (
    <Page
      title="Assistant"
      about="Answers only from this tenant’s records and text files, with their sources. The conversation is kept in this page only."
      actions={
        <>
          {turns.length === 0 ? null : <Button onClick={() => change(() => [])}>New conversation</Button>}
          <Backfill />
        </>
      }
    >
      <Card>
        <div className="assistant-log" role="log" aria-label="Conversation">
          {turns.length === 0 ? (
            <Empty title="Ask something">
              <p>
                For example what was promised to a customer, or when something is due. Answers quote their
                sources; if nothing certain is found, the answer says so.
              </p>
            </Empty>
          ) : (
            turns.map((turn, at) => (
              <TurnView
                key={turn.key}
                turn={turn}
                onRepeat={() => void run(turn.question, turn.key, turns.slice(0, at))}
              />
            ))
          )}
          <div ref={end} />
        </div>
        <Question onAsk={begin} isBusy={ask.isPending} />
      </Card>
    </Page>
  );
}

const Question = ({ onAsk, isBusy }: { onAsk: (text: string) => void; isBusy: boolean }) => {
  const [text, setText] = useState('');
  const send = (): void => {
    const question = text.trim();
    if (question === '' || isBusy) return;
    onAsk(question);
    setText('');
  };
  return (
    <form
      className="assistant-ask"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        className="input"
        aria-label="Question"
        placeholder="Ask about records and files"
        rows={2}
        maxLength={MAX_LENGTH}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <Button type="submit" tone="primary" disabled={isBusy || text.trim() === ''}>
        {isBusy ? 'Asking…' : 'Ask'}
      </Button>
    </form>
  );
};

const TurnView = ({ turn, onRepeat }: { turn: Turn; onRepeat: () => void }) => (
  <article className="assistant-turn">
    <p className="assistant-question">{turn.question}</p>
    {turn.error !== undefined ? (
      <Problem error={turn.error}>
        <span>{adviceFor(turn.error)}</span>
        <Button size="small" onClick={onRepeat}>
          Ask again
        </Button>
      </Problem>
    ) : turn.reply === undefined ? (
      <div className="stack" role="status" aria-label="Waiting for the answer">
        <span className="skeleton" />
        <span className="skeleton" style={{ width: '70%' }} />
      </div>
    ) : (
      <>
        <p className="assistant-reply">{turn.reply}</p>
        <Sources of={turn.sources ?? []} />
      </>
    )}
  </article>
);

/** Advice to the user about a refusal. */
const adviceFor = (error: unknown): string => {
  if (!(error instanceof ApiError)) return '';
  switch (error.code) {
    case 'assistant_not_entitled':
      return 'The assistant is part of the plan Enterprise and an add-on on others. A platform admin can switch it on.';
    case 'embedding_model_unavailable':
      return 'The server runs without its language index. Its operator can switch it on.';
    case 'assistant_upstream_unexpected':
      return 'The language model sent an invalid answer. Ask again.';
    case 'unavailable':
      return 'The language model does not answer at the moment.';
    case 'rate_limited':
      return 'Too many questions are running. Wait a moment and ask again.';
    default:
      return '';
  }
};

/** Path of a cited record, or of the files of a cited attachment's record. */
const pathOf = ({ source_kind, entity_name, record_id }: Citation): string =>
  `/records/${entity_name}/${record_id}${source_kind === 'attachment' ? '?show=files' : ''}`;

const Sources = ({ of: sources }: { of: readonly Citation[] }) =>
  sources.length === 0 ? (
    <p className="small muted">No source was found.</p>
  ) : (
    <ol className="assistant-sources" aria-label="Sources">
      {sources.map((source, at) => {
        const Icon = source.source_kind === 'attachment' ? FileText : Table2;
        return (
          <li key={`${source.source_id} ${source.excerpt}`}>
            <Link href={pathOf(source)}>
              <Icon size={15} aria-hidden /> {at + 1}. {source.title}
              <span className="small muted">
                {' '}
                {source.source_kind === 'attachment' ? 'file' : source.entity_name} ·{' '}
                {Math.round(100 * source.score)} % near
              </span>
            </Link>
            <p className="small">{source.excerpt}</p>
          </li>
        );
      })}
    </ol>
  );

const Backfill = () => {
  const backfill = useAction((client) => client.post('/api/v1/tenant/rag/backfill'));
  return (
    <ConfirmButton
      ask={{
        title: 'Read all records and files?',
        consequence:
          'Needed once, after the assistant was switched on, and again after labels were changed. Other changes are read automatically. It may take minutes and continues if you leave the page.',
        action: 'Read them',
        tone: 'primary',
        run: async () => {
          const { added, updated, skipped } = await backfill.mutateAsync();
          toast(
            `${added.toLocaleString()} sources added, ${updated.toLocaleString()} updated, ${skipped.toLocaleString()} unchanged or without text.`,
          );
        },
      }}
    >
      Read all sources
    </ConfirmButton>
  );
};
