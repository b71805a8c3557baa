import { useId, useState } from 'react';
import { useLocation } from 'wouter';
import { Button, Dialog, Pending, Problem, useAction, usePeople } from '../../kit/index.ts';
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
  const id = useId();
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
  const submit = async (): Promise<void> => {
    if (chosen.size === 0 || start.isPending) return;
    try {
      const { id: made } = await start.mutateAsync();
      onClose();
      navigate(`/messages/${made}`);
    } catch {
      // The error is shown below the list.
    }
  };
  return (
    <Dialog title="New conversation" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div className="field">
          <label htmlFor={id}>Find people</label>
          <input
            id={id}
            className="input"
            value={wanted}
            onChange={({ target }) => setWanted(target.value)}
            autoComplete="off"
          />
        </div>
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
        {start.error === null ? null : <Problem error={start.error} />}
        <div className="form-end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" disabled={chosen.size === 0 || start.isPending}>
            {start.isPending ? 'Working…' : 'Start'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};
