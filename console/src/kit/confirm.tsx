import { createContext, type ReactNode, useContext, useId, useMemo, useState } from 'react';
import { Button, type ButtonProps } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { MenuItem, type MenuItemProps } from './menu.tsx';
import { Problem } from './problem.tsx';

export interface Question {
  readonly title: string;
  /** States the effect, and the part of it that cannot be undone. */
  readonly consequence: ReactNode;
  /** The verb on the button: "Revoke token". */
  readonly action: string;
  /** A text that must be typed to confirm; for destructive actions. */
  readonly typed?: string;
  readonly tone?: 'danger' | 'primary';
  /** Runs while the dialogue is open. The dialogue shows an error. */
  readonly run: () => Promise<unknown>;
}

const Ask = createContext<(question: Question) => void>(() => undefined);

/** Asks for confirmation before an irreversible action. */
export const useConfirm = (): ((question: Question) => void) => useContext(Ask);

export const ConfirmProvider = ({ children }: { children: ReactNode }) => {
  const [question, setQuestion] = useState<Question>();
  const ask = useMemo(() => (asked: Question) => setQuestion(asked), []);
  return (
    <Ask.Provider value={ask}>
      {children}
      {question === undefined ? null : (
        <ConfirmDialog question={question} onClose={() => setQuestion(undefined)} />
      )}
    </Ask.Provider>
  );
};

/** A button that asks before it acts. */
export const ConfirmButton = ({
  ask,
  ...rest
}: Omit<ButtonProps, 'onClick'> & { readonly ask: Question }) => {
  const confirm = useConfirm();
  return <Button {...rest} onClick={() => confirm(ask)} />;
};

/** An entry of a menu that asks before it acts. */
export const ConfirmItem = ({
  ask,
  ...rest
}: Omit<MenuItemProps, 'onSelect'> & { readonly ask: Question }) => {
  const confirm = useConfirm();
  return <MenuItem {...rest} onSelect={() => confirm(ask)} />;
};

const ConfirmDialog = ({ question, onClose }: { question: Question; onClose: () => void }) => {
  const { title, consequence, action, typed, tone = 'danger', run } = question;
  const [text, setText] = useState('');
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const id = useId();
  const isReady = !isRunning && (typed === undefined || text === typed);
  const submit = async (): Promise<void> => {
    if (!isReady) return;
    setRunning(true);
    setError(undefined);
    try {
      await run();
      onClose();
    } catch (reason) {
      setError(reason);
      setRunning(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div className="stack">{typeof consequence === 'string' ? <p>{consequence}</p> : consequence}</div>
        {typed === undefined ? null : (
          <div className="field">
            <label htmlFor={id}>
              Type <code>{typed}</code> to continue
            </label>
            <input
              id={id}
              className="input"
              value={text}
              autoComplete="off"
              onChange={({ target }) => setText(target.value)}
            />
          </div>
        )}
        {error === undefined ? null : <Problem error={error} />}
        <div className="form-end">
          <Button onClick={onClose}>Keep it as it is</Button>
          <Button type="submit" tone={tone} disabled={!isReady}>
            {isRunning ? 'Working…' : action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};
