import {
  type InputHTMLAttributes,
  type KeyboardEvent,
  type ReactNode,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';

export interface Suggestion {
  /** Replaces the part of the text that {@link Completion} names. */
  readonly text: string;
  readonly label: ReactNode;
  readonly detail?: string | undefined;
  /** Offset of the caret in `text` after the insertion; default: its end. */
  readonly caret?: number;
}

export interface Completion {
  /** The part of the text that a suggestion replaces. */
  readonly from: number;
  readonly to: number;
  readonly suggestions: readonly Suggestion[];
}

type Box = HTMLInputElement | HTMLTextAreaElement;

type Native = 'id' | 'name' | 'required' | 'placeholder' | 'maxLength' | 'autoFocus';

interface AutocompleteProps
  extends Pick<InputHTMLAttributes<Box>, Native | 'aria-invalid' | 'aria-describedby'> {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  /** Returns the suggestions at the caret; undefined or an empty list shows nothing. */
  readonly complete: (text: string, caret: number) => Completion | undefined;
  /** Called for Enter when no suggestion is chosen; with `rows`, Shift+Enter starts a new line. */
  readonly onEnter?: () => void;
  readonly onEscape?: () => void;
  /** Makes it a textarea. */
  readonly rows?: number;
  /** Preselects the first suggestion, so that Enter takes it. */
  readonly isEager?: boolean;
  readonly placement?: 'below' | 'above';
  readonly isCode?: boolean;
}

/**
 * A text input with autocompletion. Arrow keys choose a suggestion, Enter or Tab inserts it, Escape closes the list.
 */
export const Autocomplete = (props: AutocompleteProps) => {
  const { label, value, onChange, complete, onEnter, onEscape, rows, isEager = false, ...more } = props;
  const { placement, isCode = false, ...native } = more;
  const box = useRef<Box>(null);
  const list = useId();
  const wanted = useRef<number>(undefined);
  const [caret, setCaret] = useState<number>();
  const [active, setActive] = useState(isEager ? 0 : -1);
  const found = caret === undefined ? undefined : complete(value, caret);
  const suggestions = found?.suggestions ?? [];
  const isOpen = suggestions.length > 0;
  const chosen = isOpen ? suggestions[Math.min(active, suggestions.length - 1)] : undefined;

  // Places the caret of an inserted suggestion, once its text is in the box.
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    box.current?.focus();
    box.current?.setSelectionRange(wanted.current, wanted.current);
    wanted.current = undefined;
  });

  const close = (): void => {
    setCaret(undefined);
    setActive(isEager ? 0 : -1);
  };
  const open = (): void => {
    setCaret(box.current?.selectionStart ?? value.length);
    setActive(isEager ? 0 : -1);
  };
  const take = ({ text, caret: at = text.length }: Suggestion): void => {
    if (found === undefined) return;
    onChange(value.slice(0, found.from) + text + value.slice(found.to));
    const place = found.from + at;
    wanted.current = place;
    setActive(isEager ? 0 : -1);
    setCaret(place);
  };
  const onKeyDown = (event: KeyboardEvent<Box>): void => {
    if (event.nativeEvent.isComposing) return;
    const { key } = event;
    if (key === 'Escape' && (isOpen || onEscape !== undefined)) {
      if (isOpen) close();
      else onEscape?.();
    } else if (isOpen && (key === 'ArrowDown' || key === 'ArrowUp')) {
      const step = key === 'ArrowDown' ? 1 : -1;
      // From no suggestion, the arrow up leads to the last one.
      const from = active < 0 && step < 0 ? 0 : active;
      setActive((from + step + suggestions.length) % suggestions.length);
    } else if (isOpen && chosen !== undefined && (key === 'Enter' || key === 'Tab') && !event.shiftKey) {
      take(chosen);
    } else if (!isOpen && rows === undefined && key === 'ArrowDown') open();
    else if (key === 'Enter' && onEnter !== undefined && (rows === undefined || !event.shiftKey)) {
      close();
      onEnter();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const own = {
    ...native,
    ref: (node: Box | null): void => {
      box.current = node;
    },
    value,
    'aria-label': label,
    'aria-autocomplete': 'list',
    'aria-controls': isOpen ? list : undefined,
    'aria-activedescendant': chosen === undefined ? undefined : `${list}-${suggestions.indexOf(chosen)}`,
    className: isCode ? 'input mono' : 'input',
    autoComplete: 'off',
    spellCheck: isCode ? false : undefined,
    onKeyDown,
    onChange: ({ target }: { readonly target: Box }) => {
      onChange(target.value);
      setCaret(target.selectionStart ?? target.value.length);
      setActive(isEager ? 0 : -1);
    },
    onBlur: close,
    onClick: rows === undefined ? open : undefined,
  } as const;
  return (
    <div className="autocomplete">
      {rows === undefined ? (
        <input {...own} role="combobox" aria-expanded={isOpen} />
      ) : (
        <textarea {...own} rows={rows} />
      )}
      {isOpen ? (
        <div
          id={list}
          className="autocomplete-list"
          role="listbox"
          aria-label="Suggestions"
          data-placement={placement}
        >
          {suggestions.map((one, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the text field keeps the focus and names the option
            // biome-ignore lint/a11y/useKeyWithClickEvents: the text field handles keys
            <div
              key={one.text}
              id={`${list}-${index}`}
              role="option"
              aria-selected={one === chosen}
              ref={(node) => {
                if (one === chosen) node?.scrollIntoView({ block: 'nearest' });
              }}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(one)}
            >
              <span>{one.label}</span>
              {one.detail === undefined ? null : <span className="muted small">{one.detail}</span>}
            </div>
          ))}
        </div>
      ) : null}
    </div>
  );
};
