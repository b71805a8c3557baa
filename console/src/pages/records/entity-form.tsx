import { useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  Badge,
  Button,
  CheckField,
  DialogForm,
  type FormValues,
  SelectField,
  TextField,
  useAction,
  useRead,
} from '../../kit/index.ts';
import { type Entity, type EntityField, useEntities } from './schema.ts';

const TYPES = [
  ['text', 'Text'],
  ['long_text', 'Long text'],
  ['integer', 'Whole number'],
  ['decimal', 'Decimal number'],
  ['boolean', 'Yes or no'],
  ['date', 'Date'],
  ['datetime', 'Date and time'],
  ['enum', 'One of some options'],
  ['reference', 'Reference to a record'],
  ['user', 'Person'],
  ['json', 'JSON'],
] as const;

const ON_DELETE = [
  ['restrict', 'refuse to delete the record that is referred to'],
  ['clear', 'empty the field'],
  ['cascade', 'delete this record, too'],
] as const;

const typeOf = (text: string): EntityField['type'] => TYPES.find(([type]) => type === text)?.[0] ?? 'text';
const onDeleteOf = (text: string) => ON_DELETE.find(([kind]) => kind === text)?.[0] ?? 'restrict';
const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** The field of the form at an index of the list. */
const fieldOf = (values: FormValues, index: number): EntityField => {
  const at = (name: string): string => values.text(`fields.${index}.${name}`);
  const type = typeOf(at('type'));
  return {
    key: at('key'),
    label: at('label'),
    type,
    required: values.flag(`fields.${index}.required`),
    ...(type === 'enum' ? { options: lines(at('options')) } : {}),
    ...(type === 'reference'
      ? {
          reference: {
            entity_name: at('reference.entity_name'),
            on_delete: onDeleteOf(at('reference.on_delete')),
          },
        }
      : {}),
  };
};

interface EntityDialogProps {
  /** Undefined for a new entity. */
  readonly entity?: Entity;
  readonly onClose: () => void;
}

/**
 * Defines an entity. Of an existing one, changes label, workflow and options, and adds fields; the server refuses a
 * change that stored records would violate.
 */
export const EntityDialog = ({ entity: given, onClose }: EntityDialogProps) => {
  // The entity as it was when the form was opened.
  const [entity] = useState(given);
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const present = entity?.fields ?? [];
  const [added, setAdded] = useState<readonly number[]>(entity === undefined ? [0] : []);
  const workflows = useRead(['workflows', 'all'], (client) =>
    Array.fromAsync(client.items('/api/v1/tenant/workflows', { params: { query: { limit: 200 } } })),
  );
  const published = workflows.data?.filter(({ version }) => version > 0) ?? [];
  const save = useAction(
    async (client, { name, ...body }: components['schemas']['DefineEntityBody']) => {
      if (entity === undefined) return client.post('/api/v1/tenant/entities', { body: { name, ...body } });
      const params = { path: { name: entity.name } };
      const { updated_at } = await client.get('/api/v1/tenant/entities/{name}', { params });
      // The body has all fields, so it would remove a field that another person has added.
      if (updated_at !== entity.updated_at) {
        void queries.invalidateQueries({ queryKey: ['entities'] });
        throw new Error('Another person has changed the entity. Open the form again to see the change.');
      }
      return client.patch('/api/v1/tenant/entities/{name}', { params, body });
    },
    {
      invalidates: [['entities'], ['records']],
      done: ({ label }) => `${label} was ${entity === undefined ? 'defined' : 'changed'}.`,
    },
  );
  // Offers the entity's own workflow even before the list is read: saving must not detach it.
  const offered = new Set([entity?.workflow ?? [], published.map(({ name }) => name)].flat());
  const options = [['', 'none'], ...[...offered].map((name) => [name, name] as const)] as const;
  return (
    <DialogForm
      title={entity === undefined ? 'New entity' : `Fields of ${entity.label}`}
      size="wide"
      submit={entity === undefined ? 'Define the entity' : 'Save'}
      onClose={onClose}
      onSubmit={async (values) => {
        const kept = present.map((field, index) =>
          field.options === undefined
            ? field
            : { ...field, options: lines(values.exact(`fields.${index}.options`)) },
        );
        const { name } = await save.mutateAsync({
          name: values.text('name'),
          label: values.text('label'),
          fields: [...kept, ...added.map((_, nth) => fieldOf(values, present.length + nth))],
          workflow: values.optional('workflow') ?? null,
        });
        if (entity === undefined) navigate(`/records/${name}`);
      }}
    >
      {entity === undefined ? (
        <TextField
          name="name"
          label="Name"
          required
          hint="Used in addresses and filters: lower-case letters, digits and _. It cannot be changed."
        />
      ) : null}
      <TextField name="label" label="Label" required defaultValue={entity?.label} />
      <SelectField
        name="workflow"
        label="Workflow"
        options={options}
        defaultValue={entity?.workflow ?? ''}
        hint="Each new record then gets a job that runs in this workflow."
      />
      {present.map((field, index) => (
        <Present key={field.key} field={field} index={index} />
      ))}
      {added.map((id, nth) => (
        <Added
          key={id}
          index={present.length + nth}
          remove={() => setAdded((before) => before.filter((one) => one !== id))}
        />
      ))}
      <div>
        <Button onClick={() => setAdded((before) => [...before, (before.at(-1) ?? 0) + 1])}>
          <Plus size={15} aria-hidden />
          Add a field
        </Button>
      </div>
    </DialogForm>
  );
};

const Present = ({ field, index }: { field: EntityField; index: number }) => (
  <div className="entity-field">
    <p>
      <strong>{field.label}</strong> <code>{field.key}</code> <Badge>{field.type}</Badge>{' '}
      {field.required ? <Badge tone="info">required</Badge> : null}
    </p>
    {field.options === undefined ? null : (
      <TextField
        name={`fields.${index}.options`}
        label={`Options of ${field.label}`}
        rows={3}
        defaultValue={field.options.join('\n')}
        hint="One on each line. An option that a record has cannot be removed."
      />
    )}
  </div>
);

const Added = ({ index, remove }: { index: number; remove: () => void }) => {
  const [type, setType] = useState<EntityField['type']>('text');
  const entities = useEntities();
  const name = (part: string): string => `fields.${index}.${part}`;
  return (
    <fieldset className="entity-field">
      <legend>New field</legend>
      <TextField name={name('label')} label="Label of the field" required />
      <TextField name={name('key')} label="Key" required hint="as in filters" />
      <SelectField
        name={name('type')}
        label="Type"
        options={TYPES}
        onChange={({ target }) => setType(typeOf(target.value))}
      />
      {type === 'enum' ? (
        <TextField name={name('options')} label="Options" rows={3} required hint="One on each line." />
      ) : null}
      {type === 'reference' ? (
        <>
          <SelectField
            name={name('reference.entity_name')}
            label="Of which entity"
            options={entities.data?.map((one) => [one.name, one.label] as const) ?? []}
          />
          <SelectField
            name={name('reference.on_delete')}
            label="When that record is deleted"
            options={ON_DELETE}
          />
        </>
      ) : null}
      <CheckField name={name('required')} label="Required" />
      <div>
        <Button size="small" onClick={remove}>
          Remove this field
        </Button>
      </div>
    </fieldset>
  );
};
