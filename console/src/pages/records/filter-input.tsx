import { useEffect, useId, useState } from 'react';
import { ApiError } from '../../../../client/src/index.ts';
import { Autocomplete, Button, usePeople } from '../../kit/index.ts';
import { completeFilter, type FilterName } from './complete-filter.ts';
import type { Entity, Workflow } from './schema.ts';

/** Names that filters of an entity can use, with the values to suggest for each. */
export const useFilterNames = (entity: Entity, workflow: Workflow | undefined): readonly FilterName[] => {
  const people = usePeople();
  const fields = entity.fields.map(({ key, label, type, options }): FilterName => {
    if (options !== undefined) return { key, label, type, values: options.map((one) => [one, one]) };
    if (type !== 'user') return { key, label, type };
    return {
      key,
      label,
      type,
      values: people.data?.map(({ id, display_name }) => [id, display_name] as const) ?? [],
    };
  });
  const states = workflow?.states.map(({ key, label }) => [key, label] as const);
  return [
    ...fields,
    ...(states === undefined
      ? []
      : [{ key: 'state', label: 'state', type: 'text' as const, values: states }]),
    { key: 'created_at', label: 'created_at', type: 'datetime' },
    { key: 'updated_at', label: 'updated_at', type: 'datetime' },
    { key: 'id', label: 'id', type: 'text' },
  ];
};

/** Message and offset of a fault that the server found in the filter; undefined for other errors. */
const faultOf = (error: unknown): { readonly message: string; readonly offset: number } | undefined => {
  if (!(error instanceof ApiError) || error.code !== 'invalid_filter') return undefined;
  const { offset } = error.details;
  return { message: error.message, offset: typeof offset === 'number' ? offset : 0 };
};

export const isFilterFault = (error: unknown): boolean => faultOf(error) !== undefined;

interface FilterProps {
  readonly names: readonly FilterName[];
  /** The filter of the rows that are shown. */
  readonly applied: string;
  readonly apply: (filter: string) => void;
  /** The error of reading the list with `applied`. */
  readonly error: unknown;
}

/** Input of a filter, with autocompletion and a mark at a fault that the server found. */
export const FilterInput = ({ names, applied, apply, error }: FilterProps) => {
  const [text, setText] = useState(applied);
  const id = useId();
  const fault = faultOf(error);
  // The browser's Back button also changes `applied`.
  useEffect(() => setText(applied), [applied]);
  return (
    <search className="record-filter" aria-label="Filter of the records">
      <div className="record-filter-row">
        <Autocomplete
          label="Filter"
          value={text}
          onChange={setText}
          complete={(written, caret) => completeFilter(written, caret, names, new Date())}
          onEnter={() => apply(text.trim())}
          placeholder='Filter, for example: amount > 100 && state == "open"'
          maxLength={4096}
          aria-invalid={fault === undefined ? undefined : true}
          aria-describedby={fault === undefined ? undefined : id}
          isCode
        />
        <Button onClick={() => apply(text.trim())}>Apply</Button>
        {applied === '' ? null : (
          <Button
            tone="ghost"
            onClick={() => {
              setText('');
              apply('');
            }}
          >
            Clear
          </Button>
        )}
      </div>
      {fault === undefined ? null : (
        <div id={id} className="record-fault" role="alert">
          <Fault text={applied} offset={fault.offset} />
          <span>
            At character {fault.offset + 1}: {fault.message}
          </span>
        </div>
      )}
    </search>
  );
};

/** The text with a mark at the faulty word. */
const Fault = ({ text, offset }: { text: string; offset: number }) => {
  const word = /^(?:\w+|"[^"]*"?|'[^']*'?|[^\s\w])/.exec(text.slice(offset))?.[0] ?? '';
  return (
    <code>
      {text.slice(0, offset)}
      <mark>{word === '' ? '␣' : word}</mark>
      {text.slice(offset + word.length)}
    </code>
  );
};
