import { z } from 'zod';
import { isSameJson } from '../core/canonical-json.ts';
import { DomainError, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type Changes, folded, onlyIn, type StreamType } from '../core/stream-type.ts';

/**
 * A public form that creates records of an entity (decisions, section 6, Form). Its stream is `form-<id>`; slug.ts
 * decides which form holds a slug.
 */

/** A field of the entity on the form. */
export const storedFormField = z.object({
  field_key: z.string(),
  label: z.string(),
  /** Required by the form, in addition to the entity's rules. */
  required: z.boolean(),
});
export type FormField = z.output<typeof storedFormField>;

// Events

const definition = {
  form_id: z.string(),
  slug: z.string(),
  /** The claim by which the form holds its slug. */
  claim_id: z.string(),
  title: z.string(),
  entity_name: z.string(),
  fields: z.array(storedFormField),
};

export const FormCreated = defineEvent('FormCreated', z.object(definition));
/** Holds the whole definition; a change of a published form takes effect at once. */
export const FormChanged = defineEvent('FormChanged', z.object(definition));
export const FormPublished = defineEvent('FormPublished', z.object({ form_id: z.string() }));
export const FormArchived = defineEvent('FormArchived', z.object({ form_id: z.string() }));
export const FormDeleted = defineEvent('FormDeleted', z.object(definition));

export const formEvents = [FormCreated, FormChanged, FormPublished, FormArchived, FormDeleted] as const;
export type FormEvent = EventOf<(typeof formEvents)[number]>;

// State

export const FORM_STATUSES = ['draft', 'published', 'archived'] as const;
export type FormStatus = (typeof FORM_STATUSES)[number];

export interface FormDefinition {
  readonly slug: string;
  readonly title: string;
  readonly entityName: string;
  readonly fields: readonly FormField[];
}

export interface ExistingForm extends FormDefinition {
  readonly status: FormStatus;
  readonly id: string;
  readonly claimId: string;
  /** ms */
  readonly createdAt: number;
  /** ms */
  readonly updatedAt: number;
}
export type Form = { readonly status: 'none' | 'deleted' } | ExistingForm;

export const isForm = (form: Form): form is ExistingForm => 'id' in form;

/** @throws `not_found` */
export const existingForm = (form: Form): ExistingForm => {
  if (!isForm(form)) throw notFound();
  return form;
};

type Defining = Extract<FormEvent, { type: 'FormCreated' | 'FormChanged' }>['data'];

const defined = ({ slug, claim_id: claimId, title, entity_name: entityName, fields }: Defining) => ({
  slug,
  claimId,
  title,
  entityName,
  fields,
});

const onForm = onlyIn(isForm);

export const formStream: StreamType<Form, FormEvent> = {
  category: 'form',
  stateVersion: 1,
  initial: { status: 'none' },
  evolve: folded({
    FormCreated: (_state, data, { at }) => ({
      status: 'draft',
      id: data.form_id,
      ...defined(data),
      createdAt: at,
      updatedAt: at,
    }),
    FormChanged: onForm((form, data, { at }) => ({ ...form, ...defined(data), updatedAt: at })),
    FormPublished: onForm((form, _data, { at }) => ({ ...form, status: 'published', updatedAt: at })),
    FormArchived: onForm((form, _data, { at }) => ({ ...form, status: 'archived', updatedAt: at })),
    FormDeleted: onForm(() => ({ status: 'deleted' })),
  }),
};

// Commands and decide

const dataOf = (id: string, claimId: string, { slug, title, entityName, fields }: FormDefinition) => ({
  form_id: id,
  slug,
  claim_id: claimId,
  title,
  entity_name: entityName,
  fields: [...fields],
});

/** @throws `conflict` for an id that was used */
export const createForm = (
  state: Form,
  command: { readonly id: string; readonly claimId: string; readonly definition: FormDefinition },
): readonly FormEvent[] => {
  if (state.status !== 'none')
    throw new DomainError('conflict', 'A form with this id already exists or was deleted.');
  return decided(FormCreated, dataOf(command.id, command.claimId, command.definition));
};

export type FormChange = Changes<FormDefinition>;

export const changedForm = (form: FormDefinition, change: FormChange): FormDefinition => ({
  slug: change.slug ?? form.slug,
  title: change.title ?? form.title,
  entityName: change.entityName ?? form.entityName,
  fields: change.fields ?? form.fields,
});

/** No events for equal values and the present claim. @param claimId holds the slug from now on @throws `not_found` */
export const changeForm = (state: Form, change: FormChange, claimId: string): readonly FormEvent[] => {
  const form = existingForm(state);
  const to = changedForm(form, change);
  if (isSameJson(changedForm(form, {}), to) && claimId === form.claimId) return [];
  return decided(FormChanged, dataOf(form.id, claimId, to));
};

/** Also publishes an archived form; a published form stays unchanged. @throws `not_found` */
export const publishForm = (state: Form): readonly FormEvent[] => {
  const form = existingForm(state);
  return form.status === 'published' ? [] : decided(FormPublished, { form_id: form.id });
};

/** Also archives a draft; a repeated command gives no events. @throws `not_found` */
export const archiveForm = (state: Form): readonly FormEvent[] => {
  const form = existingForm(state);
  return form.status === 'archived' ? [] : decided(FormArchived, { form_id: form.id });
};

/** @throws `not_found` */
export const deleteForm = (state: Form): readonly FormEvent[] => {
  const form = existingForm(state);
  return decided(FormDeleted, dataOf(form.id, form.claimId, form));
};
