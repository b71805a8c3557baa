import { useState } from 'react';
import type { components } from '../../../../client/src/index.ts';
import { DialogForm, type FormValues, SelectField, TextField, useAction } from '../../kit/index.ts';
import { type Entity, useEntities } from './schema.ts';

type FormView = components['schemas']['Form'];

/** Field types that a public form can ask for: neither ids nor JSON. */
const ASKED = new Set(['text', 'long_text', 'integer', 'decimal', 'boolean', 'date', 'datetime', 'enum']);

const STATES = [
  ['', 'not on the form'],
  ['optional', 'optional'],
  ['required', 'required'],
] as const;

const askable = (entity: Entity) => entity.fields.filter(({ type }) => ASKED.has(type));

/** The fields to ask for: those of the present form in its order, then new ones in the order of the entity. */
const fieldsOf = (entity: Entity, form: FormView | undefined, values: FormValues) => {
  const order = form?.entity_name === entity.name ? form.fields.map(({ field_key }) => field_key) : [];
  return [...new Set([...order, ...askable(entity).map(({ key }) => key)])].flatMap((key) => {
    const state = values.text(`ask.${key}`);
    const label = values.optional(`label.${key}`);
    if (state === '') return [];
    return [{ field_key: key, required: state === 'required', ...(label === undefined ? {} : { label }) }];
  });
};

interface FormDialogProps {
  /** Undefined for a new form. */
  readonly form?: FormView;
  readonly onClose: () => void;
}

/** Chooses which fields of an entity a public form asks for. */
export const FormDialog = ({ form, onClose }: FormDialogProps) => {
  const entities = useEntities();
  const [name, setName] = useState(form?.entity_name ?? '');
  const all = entities.data ?? [];
  const entity = all.find((one) => one.name === name) ?? all[0];
  const save = useAction(
    (client, body: components['schemas']['CreateFormBody']) =>
      form === undefined
        ? client.post('/api/v1/tenant/forms', { body })
        : client.patch('/api/v1/tenant/forms/{id}', { params: { path: { id: form.id } }, body }),
    {
      invalidates: [['forms']],
      done: form === undefined ? 'The form is a draft.' : 'The form was changed.',
    },
  );
  return (
    <DialogForm
      title={form === undefined ? 'New form' : `Change ${form.title}`}
      size="wide"
      submit={form === undefined ? 'Make the draft' : 'Save'}
      onClose={onClose}
      onSubmit={async (values) => {
        if (entity === undefined) throw new Error('There is no entity yet.');
        await save.mutateAsync({
          slug: values.text('slug'),
          title: values.text('title'),
          entity_name: entity.name,
          fields: fieldsOf(entity, form, values),
        });
      }}
    >
      <TextField name="title" label="Title" required defaultValue={form?.title} />
      <TextField
        name="slug"
        label="Address"
        required
        defaultValue={form?.slug}
        hint="The last part of its address: report-damage"
      />
      <SelectField
        key={all.length}
        name="entity_name"
        label="Makes a record of"
        options={all.map((one) => [one.name, one.label])}
        defaultValue={entity?.name}
        onChange={({ target }) => setName(target.value)}
      />
      {entity === undefined
        ? null
        : askable(entity).map((field) => {
            const asked =
              form?.entity_name === entity.name
                ? form.fields.find((one) => one.field_key === field.key)
                : undefined;
            return (
              <fieldset key={`${entity.name} ${field.key}`} className="entity-field">
                <legend>
                  {field.label} <code>{field.key}</code>
                </legend>
                <SelectField
                  name={`ask.${field.key}`}
                  label={`${field.label} is`}
                  options={STATES}
                  defaultValue={
                    asked === undefined
                      ? field.required && form === undefined
                        ? 'required'
                        : ''
                      : asked.required
                        ? 'required'
                        : 'optional'
                  }
                />
                <TextField
                  name={`label.${field.key}`}
                  label={`Question for ${field.label}`}
                  defaultValue={asked?.label ?? ''}
                  placeholder={field.label}
                />
              </fieldset>
            );
          })}
    </DialogForm>
  );
};
