import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  useContext,
  useId,
  useRef,
  useState,
} from 'react';
import { ApiError } from '../../../client/src/index.ts';
import { SignedOut } from '../session/store.ts';
import { Button, type ButtonProps } from './button.tsx';
import { issuesOf, Problem, problemText } from './problem.tsx';
import { toast } from './toasts.tsx';

/** The values of a form by the names of its fields. */
export class FormValues {
  readonly #data: FormData;

  constructor(data: FormData) {
    this.#data = data;
  }

  text(name: string): string {
    const value = this.#data.get(name);
    return typeof value === 'string' ? value.trim() : '';
  }

  /** The untrimmed text, for passwords and texts whose spaces count. */
  exact(name: string): string {
    const value = this.#data.get(name);
    return typeof value === 'string' ? value : '';
  }

  /** The text; undefined when the field was left empty. */
  optional(name: string): string | undefined {
    const value = this.text(name);
    return value === '' ? undefined : value;
  }

  /** The fields that were not left empty, as parts of a body. */
  given<C extends string>(...names: readonly C[]): { readonly [name in C]?: string } {
    return Object.fromEntries(
      names.map((name) => [name, this.text(name)]).filter(([, value]) => value !== ''),
    );
  }

  flag(name: string): boolean {
    return this.#data.has(name);
  }

  all(name: string): string[] {
    return this.#data.getAll(name).filter((value) => typeof value === 'string');
  }

  file(name: string): File | undefined {
    const value = this.#data.get(name);
    return value instanceof File && value.name !== '' ? value : undefined;
  }
}

/** Messages by field. */
const Issues = createContext<ReadonlyMap<string, string>>(new Map());

interface FormProps {
  /** May throw `ApiError`: its issues are then shown at their fields. */
  readonly onSubmit: (values: FormValues) => Promise<unknown>;
  /** The verb on the button. */
  readonly submit: string;
  readonly tone?: ButtonProps['tone'];
  /** Whether the form cannot be sent yet. */
  readonly isDisabled?: boolean;
  readonly onCancel?: (() => void) | undefined;
  /** Default: Cancel. */
  readonly cancel?: string;
  readonly children: ReactNode;
}

export const Form = (props: FormProps) => {
  const { onSubmit, submit, tone = 'primary', isDisabled, onCancel, cancel = 'Cancel', children } = props;
  const form = useRef<HTMLFormElement>(null);
  const [error, setError] = useState<unknown>();
  const [isRunning, setRunning] = useState(false);
  const issues = issuesOf(error);
  const send = async (): Promise<void> => {
    if (form.current === null || isRunning) return;
    setRunning(true);
    setError(undefined);
    try {
      await onSubmit(new FormValues(new FormData(form.current)));
    } catch (reason) {
      setError(reason);
      focusFirst(form.current, issuesOf(reason));
      // The dialogue of the form was closed meanwhile.
      if (form.current === null && !(reason instanceof SignedOut)) toast(problemText(reason), 'danger');
    } finally {
      setRunning(false);
    }
  };
  return (
    <Issues.Provider value={issues}>
      <form
        ref={form}
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {children}
        {error === undefined || isShownAtFields(error, form.current) ? null : <Problem error={error} />}
        <div className="form-end">
          {onCancel === undefined ? null : <Button onClick={onCancel}>{cancel}</Button>}
          <Button type="submit" tone={tone} disabled={isDisabled} aria-disabled={isRunning}>
            {isRunning ? 'Working…' : submit}
          </Button>
        </div>
      </form>
    </Issues.Provider>
  );
};

const fieldOf = (form: HTMLFormElement | null, path: string): Element | null => {
  const found = form?.elements.namedItem(path) ?? null;
  // Takes the first control of a group of choices.
  if (!(found instanceof RadioNodeList)) return found;
  const [first] = found;
  return first instanceof Element ? first : null;
};

const focusFirst = (form: HTMLFormElement | null, issues: ReadonlyMap<string, string>): void => {
  for (const path of issues.keys()) {
    const field = fieldOf(form, path);
    if (!(field instanceof HTMLElement)) continue;
    field.focus();
    return;
  }
};

const isShownAtFields = (error: unknown, form: HTMLFormElement | null): boolean => {
  const paths = [...issuesOf(error).keys()];
  return error instanceof ApiError && paths.length > 0 && paths.every((path) => fieldOf(form, path) !== null);
};

interface FieldProps {
  /** The path of the field in the body, as the API names it in errors: `lines.0.debit`. */
  readonly name: string;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
}

/** Label, hint and error around any control. */
export const Field = ({
  name,
  label,
  hint,
  children,
}: FieldProps & {
  readonly children: (control: {
    readonly id: string;
    readonly name: string;
    readonly 'aria-invalid': boolean | undefined;
    readonly 'aria-describedby': string | undefined;
  }) => ReactNode;
}) => {
  const id = useId();
  const error = useContext(Issues).get(name);
  const described = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        name,
        'aria-invalid': error === undefined ? undefined : true,
        'aria-describedby': described.join(' ').trim() || undefined,
      })}
      {hint === undefined ? null : (
        <span id={`${id}-hint`} className="field-hint small muted">
          {hint}
        </span>
      )}
      {error === undefined ? null : (
        <span id={`${id}-error`} className="field-error" role="alert">
          {error}
        </span>
      )}
    </div>
  );
};

type Native = 'className' | 'id' | 'name' | 'onChange';

interface TextProps extends FieldProps, Omit<InputHTMLAttributes<HTMLInputElement>, Native> {
  readonly rows?: number;
  readonly onChange?: (event: { readonly target: { readonly value: string } }) => void;
}

/** @param props.rows makes it a textarea */
export const TextField = ({ name, label, hint, rows, ...rest }: TextProps) => (
  <Field name={name} label={label} hint={hint}>
    {(control) =>
      rows === undefined ? (
        <input {...rest} {...control} className="input" />
      ) : (
        <textarea
          {...control}
          className="input"
          rows={rows}
          required={rest.required}
          defaultValue={rest.defaultValue}
          value={rest.value}
          onChange={rest.onChange}
          placeholder={rest.placeholder}
          maxLength={rest.maxLength}
        />
      )
    }
  </Field>
);

interface SelectProps
  extends FieldProps,
    Omit<SelectHTMLAttributes<HTMLSelectElement>, 'className' | 'id' | 'name'> {
  readonly options: readonly (readonly [value: string, label: string])[];
}

export const SelectField = ({ name, label, hint, options, ...rest }: SelectProps) => (
  <Field name={name} label={label} hint={hint}>
    {(control) => (
      <select {...rest} {...control} className="input">
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

export const CheckField = ({
  name,
  label,
  hint,
  defaultChecked = false,
}: FieldProps & { readonly defaultChecked?: boolean }) => {
  const id = useId();
  return (
    <div className="field">
      <label className="choice">
        <input
          type="checkbox"
          name={name}
          defaultChecked={defaultChecked}
          aria-describedby={hint === undefined ? undefined : id}
        />
        {label}
      </label>
      {hint === undefined ? null : (
        <span id={id} className="field-hint small muted">
          {hint}
        </span>
      )}
    </div>
  );
};

/** Checkboxes for any number of values. */
export const ChoicesField = ({
  name,
  label,
  hint,
  options,
  defaultValues = [],
}: FieldProps & {
  readonly options: readonly (readonly [value: string, label: ReactNode])[];
  readonly defaultValues?: readonly string[];
}) => {
  const error = useContext(Issues).get(name);
  return (
    <fieldset className="field">
      <legend>{label}</legend>
      {hint === undefined ? null : <span className="field-hint small muted">{hint}</span>}
      {options.map(([value, text]) => (
        <label key={value} className="choice">
          <input type="checkbox" name={name} value={value} defaultChecked={defaultValues.includes(value)} />
          <span>{text}</span>
        </label>
      ))}
      {error === undefined ? null : (
        <span className="field-error" role="alert">
          {error}
        </span>
      )}
    </fieldset>
  );
};
