import { Plus, X } from 'lucide-react';
import { Button, Failed, IconButton, SelectField } from '../../kit/index.ts';
import { type Entity, type EntityField, useWorkflow } from '../records/schema.ts';
import { CHOOSE, ValueField } from './value-field.tsx';

export interface Edit {
  readonly key: number;
  readonly field: string;
  readonly text: string;
  readonly clears: boolean;
}

export const emptyEdit = (key: number): Edit => ({ key, field: '', text: '', clears: false });

interface EditsProps {
  readonly fields: readonly EntityField[];
  readonly edits: readonly Edit[];
  readonly onChange: (edits: readonly Edit[]) => void;
}

/** The fields to change, each with its new value. */
export const Edits = ({ fields, edits, onChange }: EditsProps) => {
  const set = (key: number, change: Partial<Edit>): void =>
    onChange(edits.map((edit) => (edit.key === key ? { ...edit, ...change } : edit)));
  return (
    <>
      {edits.map(({ key, field: chosen, text, clears }, at) => {
        const field = fields.find((one) => one.key === chosen);
        const taken = new Set(edits.flatMap((other) => (other.key === key ? [] : [other.field])));
        const free = fields.filter((one) => !taken.has(one.key));
        return (
          <fieldset key={key} className="bulk-edit">
            <legend className="hidden-text">Change {at + 1}</legend>
            <SelectField
              name={`op_params.fields.${at}.field_key`}
              label="Field"
              required
              value={chosen}
              onChange={({ target }) => set(key, { ...emptyEdit(key), field: target.value })}
              options={[CHOOSE, ...free.map((one) => [one.key, one.label] as const)]}
            />
            {field === undefined || clears ? null : (
              <ValueField
                field={field}
                name={`op_params.fields.${at}.new_value`}
                value={text}
                onChange={(value) => set(key, { text: value })}
              />
            )}
            {field === undefined || field.required ? null : (
              <label className="choice">
                <input
                  type="checkbox"
                  checked={clears}
                  onChange={({ target }) => set(key, { clears: target.checked })}
                />
                Remove the value
              </label>
            )}
            <IconButton
              label={`Remove change ${at + 1}`}
              icon={<X size={16} aria-hidden />}
              disabled={edits.length < 2}
              onClick={() => onChange(edits.filter((edit) => edit.key !== key))}
            />
          </fieldset>
        );
      })}
      <div>
        <Button
          size="small"
          disabled={edits.length >= fields.length}
          onClick={() => onChange([...edits, emptyEdit(Math.max(...edits.map((edit) => edit.key)) + 1)])}
        >
          <Plus size={15} aria-hidden /> Another field
        </Button>
      </div>
    </>
  );
};

/** The transitions of the entity's workflow. */
export const Transition = ({ entity: { label, workflow } }: { entity: Entity }) => {
  const read = useWorkflow(workflow);
  if (workflow === null)
    return <p className="muted">{label} has no workflow, so there are no transitions.</p>;
  if (read.error !== null) return <Failed of={read} />;
  const { transitions = [] } = read.data?.published ?? read.data ?? {};
  const events = [...Map.groupBy(transitions, ({ event_name }) => event_name)];
  return (
    <SelectField
      name="op_params.event_name"
      label="Transition"
      hint="Records in another state, or that a guard refuses, are shown in the preview."
      required
      options={events.map(([event, all]) => [
        event,
        `${event} (${all.map(({ from, to }) => `from ${[from].flat().join(', ')} to ${to}`).join('; ')})`,
      ])}
    />
  );
};
