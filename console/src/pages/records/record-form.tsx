import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  Autocomplete,
  DialogForm,
  Field,
  type FormValues,
  localText,
  SelectField,
  TextField,
  useAction,
  usePeople,
  useRead,
} from '../../kit/index.ts';
import { type Entity, type EntityField, type EntityRecord, titleOf, useEntity } from './schema.ts';

const NONE = ['', '–'] as const;
/** Maximum of records suggested for a reference. */
const OFFERED = 20;

/** A value as the text of its field. */
const textOf = ({ type }: EntityField, value: unknown): string => {
  if (value === undefined || value === null) return '';
  if (type === 'json') return JSON.stringify(value, null, 2);
  if (type === 'datetime') return localText(String(value));
  return String(value);
};

/**
 * Parses the text of a field. Invalid text of a type other than JSON is sent as it is, and the server refuses it.
 * @throws {SyntaxError} for invalid JSON
 */
const parsedOf = ({ type }: EntityField, text: string): unknown => {
  if (text === '') return null;
  switch (type) {
    case 'integer':
      return /^-?\d{1,16}$/.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true';
    case 'datetime': {
      const at = new Date(text);
      return Number.isNaN(at.getTime()) ? text : at.toISOString();
    }
    case 'json':
      return JSON.parse(text);
    case 'text':
    case 'long_text':
    case 'decimal':
    case 'date':
    case 'enum':
    case 'reference':
    case 'user':
      return text;
    default:
      return type satisfies never;
  }
};

const nameOf = ({ key }: EntityField): string => `values.${key}`;

/** The value that the form shows first: of the record, or the default for a new record. */
const givenOf = ({ key, default: fallback }: EntityField, record: EntityRecord | undefined): unknown =>
  record === undefined ? fallback : record.values[key];

/** A text with the line ends of a text area. */
const lines = (text: string): string => text.replaceAll(/\r\n?/g, '\n');

/** Whether a field still has its first text. Browsers may shorten times: 09:00:00.000 is 09:00. */
const isUnchanged = (type: EntityField['type'], typed: string, first: string): boolean =>
  typed === first || (type === 'datetime' && Date.parse(typed) === Date.parse(first));

/** Values of the fields that were changed; null for fields that were emptied. */
const changesOf = (
  fields: readonly EntityField[],
  before: EntityRecord | undefined,
  values: FormValues,
): Record<string, unknown> => {
  const changes: Record<string, unknown> = {};
  for (const field of fields) {
    const typed = lines(values.exact(nameOf(field)));
    if (isUnchanged(field.type, typed, lines(textOf(field, givenOf(field, before))))) continue;
    try {
      changes[field.key] = parsedOf(field, typed);
    } catch {
      throw new Error(`${field.label} is not valid JSON. Nothing was saved.`);
    }
  }
  return changes;
};

interface RecordDialogProps {
  readonly entity: Entity;
  /** Undefined for a new record. */
  readonly record?: EntityRecord;
  readonly onClose: () => void;
  readonly onDone?: (record: EntityRecord) => void;
}

/** Creates or changes a record, with an input for each field of its entity. */
export const RecordDialog = ({ entity, record: present, onClose, onDone }: RecordDialogProps) => {
  // The record when the form was opened: changes by others meanwhile must not count as input here.
  const [record] = useState(present);
  const queries = useQueryClient();
  const save = useAction(
    (client, values: Record<string, unknown>) => {
      const { name } = entity;
      const path = '/api/v1/tenant/entities/{name}/records';
      if (record === undefined) return client.post(path, { params: { path: { name } }, body: { values } });
      const { id, version } = record;
      const params = { path: { name, id }, header: { 'If-Match': `"${version}"` } };
      return client.patch(`${path}/{id}`, { params, body: { values } });
    },
    {
      invalidates: [
        ['records', entity.name],
        ['record', entity.name],
      ],
      done: record === undefined ? 'The record was made.' : 'The record was saved.',
    },
  );
  return (
    <DialogForm
      title={record === undefined ? `New: ${entity.label}` : `Change: ${entity.label}`}
      size="wide"
      submit={record === undefined ? 'Make the record' : 'Save'}
      onClose={onClose}
      onSubmit={async (given) => {
        const done = await save.mutateAsync(changesOf(entity.fields, record, given)).catch((error) => {
          // The page behind the form then shows the changes of other people.
          if (record !== undefined) void queries.invalidateQueries({ queryKey: ['record', entity.name] });
          throw error;
        });
        onDone?.(done);
      }}
    >
      {entity.fields.map((field) => (
        <Input key={field.key} field={field} value={givenOf(field, record)} />
      ))}
    </DialogForm>
  );
};

const boundsOf = ({ type, min, max, max_length: length }: EntityField): string | undefined => {
  const parts = [
    type === 'decimal' ? 'a number such as 12.50' : type === 'integer' ? 'a whole number' : '',
    min === undefined ? '' : `at least ${min}`,
    max === undefined ? '' : `at most ${max}`,
    length === undefined ? '' : `at most ${length} characters`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? undefined : parts.join(', ');
};

interface InputProps {
  readonly field: EntityField;
  readonly value: unknown;
}

const Input = ({ field, value }: InputProps) => {
  const own = {
    name: nameOf(field),
    label: field.required ? `${field.label} *` : field.label,
    defaultValue: textOf(field, value),
    hint: boundsOf(field),
  };
  switch (field.type) {
    case 'text':
      // An input of one line would remove line breaks.
      return <TextField {...own} {...(/[\r\n]/.test(own.defaultValue) ? { rows: 4 } : {})} />;
    case 'long_text':
      return <TextField {...own} rows={4} />;
    case 'json':
      return <TextField {...own} rows={5} hint="JSON" />;
    case 'integer':
      return <TextField {...own} inputMode="numeric" />;
    case 'decimal':
      return <TextField {...own} inputMode="decimal" />;
    case 'date':
      return <TextField {...own} type="date" />;
    case 'datetime':
      return <TextField {...own} type="datetime-local" step="0.001" hint="in your time zone" />;
    case 'boolean':
      return <SelectField {...own} options={[NONE, ['true', 'Yes'], ['false', 'No']]} />;
    case 'enum':
      return (
        <SelectField {...own} options={[NONE, ...(field.options ?? []).map((one) => [one, one] as const)]} />
      );
    case 'user':
      return <UserInput {...own} />;
    case 'reference':
      return <ReferenceInput {...own} entity={field.reference?.entity_name ?? ''} />;
    default:
      return field.type satisfies never;
  }
};

interface OwnProps {
  readonly name: string;
  readonly label: string;
  readonly defaultValue: string;
}

const UserInput = (own: OwnProps) => {
  const people = usePeople();
  const options =
    people.data?.map(({ id, display_name, email }) => [id, `${display_name}, ${email}`] as const) ?? [];
  const isKnown = own.defaultValue === '' || options.some(([id]) => id === own.defaultValue);
  return (
    <SelectField
      {...own}
      options={[NONE, ...options, ...(isKnown ? [] : [[own.defaultValue, own.defaultValue] as const])]}
    />
  );
};

/** Input of the id of a referenced record. Suggests records by their first text field. */
const ReferenceInput = ({ name, label, defaultValue, entity }: OwnProps & { readonly entity: string }) => {
  const [text, setText] = useState(defaultValue);
  const schema = useEntity(entity);
  const fields = schema.data?.fields ?? [];
  const key = fields.find(({ type }) => type === 'text')?.key;
  const word = text.trim();
  const isId = /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(word);
  const filter = isId
    ? `id == ${JSON.stringify(word)}`
    : word === '' || key === undefined
      ? undefined
      : `${key}.contains(${JSON.stringify(word)})`;
  const found = useRead(
    ['records', entity, 'offered', filter ?? ''],
    (client, signal) =>
      client.get('/api/v1/tenant/entities/{name}/records', {
        params: {
          path: { name: entity },
          query: { limit: OFFERED, ...(filter === undefined ? {} : { filter }) },
        },
        signal,
      }),
    { enabled: schema.isSuccess },
  );
  const [chosen] = isId ? (found.data ?? []) : [];
  return (
    <Field
      name={name}
      label={label}
      hint={
        chosen === undefined
          ? `The id of a record of ${schema.data?.label ?? entity}: type to find one.`
          : titleOf(fields, chosen)
      }
    >
      {(control) => (
        <>
          <input type="hidden" name={control.name} value={text} />
          <Autocomplete
            {...control}
            name={undefined}
            label={label}
            value={text}
            onChange={setText}
            complete={() =>
              isId
                ? undefined
                : {
                    from: 0,
                    to: text.length,
                    suggestions: (found.data ?? []).map((one) => ({
                      text: one.id,
                      label: titleOf(fields, one),
                      detail: one.id.slice(-8),
                    })),
                  }
            }
          />
        </>
      )}
    </Field>
  );
};
