import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';

interface FiltersProps {
  readonly label: string;
  /** Whether any filter is set, and a function that clears all. */
  readonly of?: { readonly isAny: boolean; readonly clear: () => void };
  readonly children: ReactNode;
}

/** The row of filters above a list. */
export const Filters = ({ label, of, children }: FiltersProps) => (
  <search className="filters" aria-label={label}>
    {children}
    {of?.isAny === true ? (
      <Button size="small" tone="ghost" onClick={of.clear}>
        Clear filters
      </Button>
    ) : null}
  </search>
);

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A text filter, applied at Enter or when the field loses the focus. */
export const TextFilter = ({
  label,
  value,
  onChange,
  placeholder,
}: FilterProps & { readonly placeholder?: string }) => {
  const [text, setText] = useState(value);
  const [applied, setApplied] = useState(value);
  // Shows a value that was changed elsewhere, in the same field, so that the field keeps the focus.
  if (applied !== value) {
    setApplied(value);
    setText(value);
  }
  return (
    <label className="filter">
      <span>{label}</span>
      <input
        className="input"
        value={text}
        placeholder={placeholder}
        onChange={({ target }) => setText(target.value)}
        onBlur={() => onChange(text.trim())}
        onKeyDown={({ key }) => {
          if (key === 'Enter') onChange(text.trim());
        }}
      />
    </label>
  );
};

/** A filter by one of several values; an empty text means all. */
export const SelectFilter = ({
  label,
  value,
  onChange,
  options,
}: FilterProps & { readonly options: readonly (readonly [value: string, text: string])[] }) => (
  <label className="filter">
    <span>{label}</span>
    <select className="input" value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">All</option>
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

/** A filter by a day or an instant; incomplete input is ignored. */
export const TimeFilter = ({
  label,
  value,
  onChange,
  type = 'date',
}: FilterProps & { readonly type?: 'date' | 'datetime-local' }) => (
  <label className="filter">
    <span>{label}</span>
    <input
      type={type}
      className="input"
      value={value}
      onChange={({ target }) => {
        if (target.validity.valid) onChange(target.value);
      }}
    />
  </label>
);
