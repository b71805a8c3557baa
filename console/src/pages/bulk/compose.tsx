import { useState } from 'react';
import { useLocation } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  Autocomplete,
  Card,
  Empty,
  Field,
  Form,
  type FormValues,
  Page,
  Pending,
  SelectField,
  TextField,
  useAction,
  useFilters,
} from '../../kit/index.ts';
import { completeFilter } from '../records/complete-filter.ts';
import { useFilterNames } from '../records/filter-input.tsx';
import { type Entity, useEntities, useWorkflow } from '../records/schema.ts';
import { type Edit, Edits, emptyEdit, Transition } from './operation-fields.tsx';
import { typedValue } from './value-field.tsx';
import '../../styles/bulk.css';

type Body = components['schemas']['PreviewBulkOperationBody'];
type Operation = Body['operation'];

const OPERATIONS: readonly (readonly [Operation, string])[] = [
  ['edit', 'Edit fields'],
  ['transition', 'Move by a transition'],
  ['delete', 'Delete'],
];

/** Maximum of different ids that the API takes in one request. */
const MAX_IDS = 100_000;

/** Chooses records and an operation on them. `?entity=` and `?filter=` come from a list of records. */
export default function Compose() {
  const entities = useEntities();
  return (
    <Page
      title="New bulk operation"
      about="Nothing is changed yet: the next page shows what would happen to each record."
      crumbs={[['/bulk', 'Bulk operations']]}
    >
      <Card>
        {entities.data === undefined ? (
          <Pending of={entities} what="the entities" />
        ) : entities.data.length === 0 ? (
          <Empty title="No entity yet">
            <p>Records belong to entities. Define one first.</p>
          </Empty>
        ) : (
          <Composer entities={entities.data} />
        )}
      </Card>
    </Page>
  );
}

const Composer = ({ entities }: { entities: readonly Entity[] }) => {
  const [, navigate] = useLocation();
  const given = useFilters(['entity', 'filter']);
  const [name, setName] = useState(given.of('entity') || (entities[0]?.name ?? ''));
  const [operation, setOperation] = useState<Operation>('edit');
  const [selects, setSelects] = useState<'filter' | 'ids'>('filter');
  const [edits, setEdits] = useState<readonly Edit[]>([emptyEdit(0)]);
  const [filter, setFilter] = useState(given.of('filter') || 'true');
  const entity = entities.find((one) => one.name === name);
  const preview = useAction(
    (client, body: Body) => client.post('/api/v1/tenant/bulk-ops/preview', { body }),
    { invalidates: [['bulk-sessions']] },
  );
  if (entity === undefined) return <Empty title={`There is no entity ${name}`} />;
  return (
    <Form
      submit="Preview"
      onCancel={() => navigate('/bulk')}
      onSubmit={async (values) => {
        const session = await preview.mutateAsync({
          entity_name: entity.name,
          operation,
          selection: selectionOf(selects, values),
          op_params: paramsOf(operation, entity, edits, values),
        });
        navigate(`/bulk/${session.id}`);
      }}
    >
      <SelectField
        name="entity_name"
        label="Entity"
        options={entities.map((one) => [one.name, one.label])}
        value={name}
        onChange={({ target }) => {
          setName(target.value);
          setEdits([emptyEdit(0)]);
        }}
      />
      <Choices
        legend="Which records"
        options={[
          ['filter', 'All records that a filter selects'],
          ['ids', 'A list of ids'],
        ]}
        value={selects}
        onChange={setSelects}
      />
      {selects === 'filter' ? (
        <FilterField entity={entity} value={filter} onChange={setFilter} />
      ) : (
        <TextField
          name="selection.ids"
          label="Ids"
          required
          rows={6}
          hint={`Paste ids, separated by spaces, commas or line breaks; at most ${MAX_IDS.toLocaleString()}.`}
        />
      )}
      <Choices legend="What to do" options={OPERATIONS} value={operation} onChange={setOperation} />
      {operation === 'edit' ? <Edits fields={entity.fields} edits={edits} onChange={setEdits} /> : null}
      {operation === 'transition' ? <Transition entity={entity} /> : null}
      {operation === 'delete' ? (
        <p className="muted">
          The preview also counts other records that are deleted or changed through references.
        </p>
      ) : null}
    </Form>
  );
};

interface FilterFieldProps {
  readonly entity: Entity;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

/** A filter input with the same suggestions as above a list of records. */
const FilterField = ({ entity, value, onChange }: FilterFieldProps) => {
  const names = useFilterNames(entity, useWorkflow(entity.workflow).data);
  return (
    <Field
      name="selection.filter_expr"
      label="Filter"
      hint={
        <>
          An expression on {['id', 'state', ...entity.fields.map(({ key }) => key)].slice(0, 12).join(', ')}
          {entity.fields.length > 10 ? ', …' : ''}. <code>true</code> selects all.
        </>
      }
    >
      {(control) => (
        <Autocomplete
          {...control}
          label="Filter"
          required
          value={value}
          onChange={onChange}
          complete={(written, caret) => completeFilter(written, caret, names, new Date())}
          maxLength={4096}
          isCode
        />
      )}
    </Field>
  );
};

const selectionOf = (selects: 'filter' | 'ids', values: FormValues): Body['selection'] => {
  if (selects === 'filter') return { kind: 'filter', filter_expr: values.text('selection.filter_expr') };
  const ids = values
    .text('selection.ids')
    .split(/[\s,;"']+/)
    .filter((id) => id !== '');
  return { kind: 'ids', ids: [...new Set(ids)] };
};

const paramsOf = (
  operation: Operation,
  { fields }: Entity,
  edits: readonly Edit[],
  values: FormValues,
): Body['op_params'] => {
  switch (operation) {
    case 'edit':
      return {
        kind: 'edit',
        fields: edits.map(({ field: key, text, clears }) => {
          const field = fields.find((one) => one.key === key);
          if (field === undefined) throw new RangeError('Choose the field to change.');
          return { field_key: key, new_value: clears ? null : typedValue(field, text) };
        }),
      };
    case 'delete':
      return { kind: 'delete' };
    case 'transition':
      return { kind: 'transition', event_name: values.text('op_params.event_name') };
    default:
      return operation satisfies never;
  }
};

interface ChoicesProps<T extends string> {
  readonly legend: string;
  readonly options: readonly (readonly [value: T, label: string])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

const Choices = <T extends string>({ legend, options, value, onChange }: ChoicesProps<T>) => (
  <fieldset className="field">
    <legend>{legend}</legend>
    {options.map(([each, label]) => (
      <label key={each} className="choice">
        <input type="radio" name={legend} checked={each === value} onChange={() => onChange(each)} />
        {label}
      </label>
    ))}
  </fieldset>
);
