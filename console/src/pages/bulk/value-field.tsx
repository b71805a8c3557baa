import { SelectField, TextField } from '../../kit/index.ts';
import type { EntityField } from '../records/schema.ts';

/** The option of a select field in which nothing is chosen. */
export const CHOOSE = ['', 'Choose'] as const;

interface ValueProps {
  readonly field: EntityField;
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const HINTS: { readonly [type in EntityField['type']]?: string } = {
  decimal: 'Decimal digits with a point, like 120.50.',
  datetime: 'In your time zone; stored in UTC.',
  reference: 'The id of a record.',
  user: 'The id of a person.',
  json: 'A JSON value.',
};

/** A control for a value of a field, by its type. */
export const ValueField = ({ field, name, value, onChange }: ValueProps) => {
  const given = {
    name,
    label: 'New value',
    hint: HINTS[field.type],
    value,
    onChange: ({ target }: { readonly target: { readonly value: string } }) => onChange(target.value),
  };
  switch (field.type) {
    case 'boolean':
      return <SelectField {...given} options={[CHOOSE, ['true', 'true'], ['false', 'false']]} />;
    case 'enum':
      return (
        <SelectField
          {...given}
          options={[CHOOSE, ...(field.options ?? []).map((one) => [one, one] as const)]}
        />
      );
    case 'long_text':
    case 'json':
      return <TextField {...given} rows={4} />;
    case 'date':
      return <TextField {...given} type="date" />;
    case 'datetime':
      return <TextField {...given} type="datetime-local" step={1} />;
    case 'integer':
      return <TextField {...given} inputMode="numeric" autoComplete="off" />;
    case 'decimal':
      return <TextField {...given} inputMode="decimal" autoComplete="off" />;
    case 'text':
    case 'reference':
    case 'user':
      return <TextField {...given} autoComplete="off" />;
    default:
      return field.type satisfies never;
  }
};

/**
 * Converts a typed text to a value for the API. A text that does not fit the type is sent as it is, and the server
 * refuses it.
 * @throws {RangeError} for an empty choice and a text that is no JSON
 */
export const typedValue = ({ type, label }: EntityField, text: string): unknown => {
  switch (type) {
    case 'boolean':
      if (text === '') throw new RangeError(`Choose a value for ${label}.`);
      return text === 'true';
    case 'enum':
      if (text === '') throw new RangeError(`Choose a value for ${label}.`);
      return text;
    case 'integer':
      return /^\s*-?\d+\s*$/.test(text) ? Number(text) : text;
    case 'decimal':
      return text.trim();
    case 'datetime': {
      const at = Date.parse(text);
      return Number.isNaN(at) ? text : new Date(at).toISOString();
    }
    case 'json':
      try {
        return JSON.parse(text);
      } catch {
        throw new RangeError(`The value of ${label} is not valid JSON.`);
      }
    case 'reference':
    case 'user':
      return text.trim();
    case 'text':
    case 'long_text':
    case 'date':
      return text;
    default:
      return type satisfies never;
  }
};
