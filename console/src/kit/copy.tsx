import { Check, Copy as CopyIcon } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from './button.tsx';
import { toast } from './toasts.tsx';

export const Copy = ({ text, label }: { text: string; label: string }) => {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      // Without https there is no `navigator.clipboard`, and this throws too.
      await navigator.clipboard.writeText(text);
      setDone(true);
    } catch {
      toast('The browser does not allow copying. Select the text instead.', 'danger');
    }
  };
  const icon = isDone ? <Check size={15} aria-hidden /> : <CopyIcon size={15} aria-hidden />;
  return (
    <IconButton
      label={isDone ? 'Copied' : label}
      icon={icon}
      onClick={() => {
        void copy();
      }}
      onBlur={() => setDone(false)}
    />
  );
};

/** A long text with a button that copies it: an id, a hash, a position. */
export const Copied = ({ text, what }: { text: string; what: string }) => (
  <>
    <code className="long">{text}</code> <Copy text={text} label={`Copy the ${what}`} />
  </>
);

/** A text on a line of its own, with a button that copies it. */
export const CopyBox = ({ text, what }: { text: string; what: string }) => (
  <div className="secret">
    <code>{text}</code>
    <Copy text={text} label={`Copy ${what}`} />
  </div>
);

/** A secret that the server shows once. */
export const Secret = ({ text, name }: { text: string; name: string }) => (
  <div className="stack">
    <p>This is the only time that {name} is shown. Copy it now: it cannot be read again, only replaced.</p>
    <CopyBox text={text} what={name} />
  </div>
);
