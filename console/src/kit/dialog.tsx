import { X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button, type ButtonProps, IconButton } from './button.tsx';

interface DialogProps {
  readonly title: string;
  /** Undefined for a dialogue that cannot be closed. */
  readonly onClose?: (() => void) | undefined;
  readonly size?: 'normal' | 'wide' | 'drawer';
  readonly children: ReactNode;
}

/**
 * A modal dialogue, open as long as it is rendered. The browser keeps the focus inside, and returns it when the
 * dialogue closes.
 */
export const Dialog = ({ title, onClose, size = 'normal', children }: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  const kind = { normal: 'dialog', wide: 'dialog dialog-wide', drawer: 'dialog drawer' }[size];
  return (
    <dialog
      ref={dialog}
      className={kind}
      aria-labelledby={id}
      onCancel={(event) => {
        // Ignores events of nested dialogues and file inputs.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        onClose?.();
      }}
      onClose={({ target, currentTarget: box }) => {
        // Chromium closes a dialogue at a second Escape, or without user activation, although `cancel` was prevented.
        if (target !== box || box.open) return;
        if (onClose === undefined) box.showModal();
        else onClose();
      }}
    >
      {size === 'drawer' ? (
        <h2 id={id} className="hidden-text">
          {title}
        </h2>
      ) : (
        <header className="row between">
          <h2 id={id}>{title}</h2>
          {onClose === undefined ? null : (
            <IconButton label="Close" icon={<X size={17} aria-hidden />} onClick={onClose} />
          )}
        </header>
      )}
      <div className={size === 'drawer' ? undefined : 'dialog-body'}>{children}</div>
    </dialog>
  );
};

interface DialogButtonProps extends Omit<ButtonProps, 'onClick'> {
  /** Makes the dialogue; `close` closes it. */
  readonly dialog: (close: () => void) => ReactNode;
}

/** A button that opens a dialogue. */
export const DialogButton = ({ dialog, ...rest }: DialogButtonProps) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button {...rest} onClick={() => setOpen(true)} />
      {isOpen ? dialog(() => setOpen(false)) : null}
    </>
  );
};
