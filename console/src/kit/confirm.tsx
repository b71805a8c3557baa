import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { Button, type ButtonProps } from './button.tsx';
import { DialogForm } from './dialog-form.tsx';
import { TextField } from './form.tsx';
import { MenuItem, type MenuItemProps } from './menu.tsx';

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
  return (
    <DialogForm
      title={title}
      submit={action}
      tone={tone}
      isDisabled={typed !== undefined && text !== typed}
      cancel="Keep it as it is"
      onClose={onClose}
      onSubmit={run}
    >
      <div className="stack">{typeof consequence === 'string' ? <p>{consequence}</p> : consequence}</div>
      {typed === undefined ? null : (
        <TextField
          name="typed"
          label={
            <>
              Type <code>{typed}</code> to continue
            </>
          }
          value={text}
          autoComplete="off"
          onChange={({ target }) => setText(target.value)}
        />
      )}
    </DialogForm>
  );
};
