import { useState } from 'react';
import { useLocation } from 'wouter';
import { DialogForm, Pending, TextField, useAction, usePeople } from '../../kit/index.ts';
import { useSelf } from './conversations.ts';

/** Maximum of matching people that are shown; chosen people are always shown, so that they can be unchecked. */
const SHOWN = 50;

/** Chooses people and opens their conversation, which is created if there is none. */
export const StartConversation = ({ onClose }: { onClose: () => void }) => {
  const people = usePeople();
  const self = useSelf();
  const [, navigate] = useLocation();
  const [wanted, setWanted] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const start = useAction(
    (client) =>
      client.post('/api/v1/tenant/messaging/conversations', {
        body: { participant_user_ids: [...chosen] },
      }),
    { invalidates: [['conversations']] },
  );
  const others = people.data?.filter((one) => one.id !== self && one.status === 'active') ?? [];
  const word = wanted.trim().toLowerCase();
  const found = others.filter(
    (one) =>
      chosen.has(one.id) ||
      one.display_name.toLowerCase().includes(word) ||
      one.email.toLowerCase().includes(word),
  );
  const shown = found.filter((one, nth) => nth < SHOWN || chosen.has(one.id));
  const toggle = (one: string): void =>
    setChosen(
      (before) => new Set(before.has(one) ? [...before].filter((id) => id !== one) : [...before, one]),
    );
  return (
    <DialogForm
      title="New conversation"
      submit="Start"
      isDisabled={chosen.size === 0}
      onClose={onClose}
      onSubmit={async () => {
        const { id } = await start.mutateAsync();
        navigate(`/messages/${id}`);
      }}
    >
      <TextField
        name="wanted"
        label="Find people"
        value={wanted}
        onChange={({ target }) => setWanted(target.value)}
        autoComplete="off"
      />
      <fieldset className="field talk-people">
        <legend>With whom?</legend>
        {people.data === undefined ? <Pending of={people} what="people" /> : null}
        {shown.map((one) => (
          <label key={one.id} className="choice">
            <input type="checkbox" checked={chosen.has(one.id)} onChange={() => toggle(one.id)} />
            <span>
              {one.display_name} <span className="small muted">{one.email}</span>
            </span>
          </label>
        ))}
        {people.data !== undefined && found.length === 0 ? (
          <p className="muted">Nobody has this name.</p>
        ) : null}
        {found.length > shown.length ? (
          <p className="muted small">and {found.length - shown.length} more</p>
        ) : null}
      </fieldset>
    </DialogForm>
  );
};
