import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import { iso, projection } from '../../domain/core/projection.ts';
import type { FormEvent, FormField, FormStatus } from '../../domain/forms/form.ts';

/** The forms of a tenant (decisions, section 6, Form). */

export interface FormDoc {
  readonly id: string;
  readonly slug: string;
  readonly title: string;
  readonly entity_name: string;
  readonly fields: readonly FormField[];
  readonly status: FormStatus;
  readonly created_at: string;
  readonly updated_at: string;
}

const forms = collection<FormDoc>('forms');

type Definition = Pick<FormDoc, 'slug' | 'title' | 'entity_name' | 'fields'>;

const definitionOf = ({ slug, title, entity_name, fields }: Definition): Definition => ({
  slug,
  title,
  entity_name,
  fields,
});

export const formsProjection = projection<FormEvent>({
  name: 'forms',
  version: 1,
  collections: [{ name: 'forms', indexes: [byCreatedAt] }],
  on: {
    FormCreated: ({ data, at }) => [
      forms.put(data.form_id, {
        id: data.form_id,
        ...definitionOf(data),
        status: 'draft',
        created_at: iso(at),
        updated_at: iso(at),
      }),
    ],
    FormChanged: ({ data, at }) => [
      forms.merge(data.form_id, { ...definitionOf(data), updated_at: iso(at) }),
    ],
    FormPublished: ({ data, at }) => [
      forms.merge(data.form_id, { status: 'published', updated_at: iso(at) }),
    ],
    FormArchived: ({ data, at }) => [forms.merge(data.form_id, { status: 'archived', updated_at: iso(at) })],
    FormDeleted: ({ data }) => [forms.remove(data.form_id)],
  },
});

// Queries

export const formById = forms.get;

/** The forms of a tenant, newest first. */
export const formsOf = forms.list('by_created_at', 'desc');
