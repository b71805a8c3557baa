import { useState } from 'react';
import {
  Button,
  Failed,
  MentionField,
  MentionText,
  Pending,
  Problem,
  Time,
  useAction,
  useMentions,
  useNames,
  usePages,
  useTenant,
} from '../../kit/index.ts';

export const Notes = ({ name, id }: { name: string; id: string }) => {
  const path = { name, id };
  const self = useTenant()?.userId;
  const nameOf = useNames();
  const notes = usePages(['notes', name, id], (client, limit) =>
    client.items('/api/v1/tenant/entities/{name}/records/{id}/notes', { params: { path, query: { limit } } }),
  );
  const items = notes.data?.pages.flatMap((page) => page.items);
  return (
    <div className="stack">
      <Write name={name} id={id} />
      {items === undefined ? <Pending of={notes} what="the notes" /> : <Failed of={notes} />}
      {items?.length === 0 ? <p className="muted">No note yet.</p> : null}
      <ul className="notes">
        {items?.map((note) => (
          <li key={note.id}>
            <p className="small muted">
              <strong>
                {note.author_user_id === null
                  ? `${note.author.kind} ${note.author.id}`
                  : nameOf(note.author_user_id)}
              </strong>{' '}
              <Time at={note.created_at} relative />
            </p>
            <p className="record-text">
              <MentionText text={note.body} self={self} />
            </p>
          </li>
        ))}
      </ul>
      {notes.hasNextPage ? (
        <div>
          <Button onClick={() => void notes.fetchNextPage()} disabled={notes.isFetchingNextPage}>
            More notes
          </Button>
        </div>
      ) : null}
    </div>
  );
};

const Write = ({ name, id }: { name: string; id: string }) => {
  const mentions = useMentions();
  const [text, setText] = useState('');
  const add = useAction(
    (client, body: string) =>
      client.post('/api/v1/tenant/entities/{name}/records/{id}/notes', {
        params: { path: { name, id } },
        body: { body },
      }),
    { invalidates: [['notes', name, id]] },
  );
  const submit = async (): Promise<void> => {
    if (add.isPending || text.trim() === '') return;
    try {
      await add.mutateAsync(mentions.sent(text));
      setText((present) => (present === text ? '' : present));
    } catch {
      // The error is shown below the text.
    }
  };
  return (
    <div className="stack notes-write">
      <MentionField
        label="New note"
        placeholder="Write a note; @ mentions a person"
        value={text}
        onChange={setText}
        onEnter={() => void submit()}
        mentions={mentions}
      />
      {add.error === null ? null : <Problem error={add.error} />}
      <div className="row">
        <Button onClick={() => void submit()} aria-disabled={add.isPending || text.trim() === ''}>
          {add.isPending ? 'Working…' : 'Add the note'}
        </Button>
        <span className="small muted">Mentioned people are notified.</span>
      </div>
    </div>
  );
};
