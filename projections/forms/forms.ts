import {
  type DocumentReader,
  iso,
  type Page,
  type PageEnd,
  projection,
  touch,
  touchExisting,
} from '../../domain/core/projection.ts';
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

const changed = (id: string, change: (document: FormDoc) => FormDoc) => [
  touchExisting<FormDoc>('forms', id, change),
];

export const formsProjection = projection<FormEvent>({
  name: 'forms',
  version: 1,
  collections: [{ name: 'forms', indexes: [{ name: 'by_created_at', fields: ['created_at'] }] }],
  on: {
    FormCreated: ({ data, at }) => [
      touch<FormDoc>('forms', data.form_id, () => ({
        id: data.form_id,
        slug: data.slug,
        title: data.title,
        entity_name: data.entity_name,
        fields: data.fields,
        status: 'draft',
        created_at: iso(at),
        updated_at: iso(at),
      })),
    ],
    FormChanged: ({ data, at }) =>
      changed(data.form_id, (form) => ({
        ...form,
        slug: data.slug,
        title: data.title,
        entity_name: data.entity_name,
        fields: data.fields,
        updated_at: iso(at),
      })),
    FormPublished: ({ data, at }) =>
      changed(data.form_id, (form) => ({ ...form, status: 'published', updated_at: iso(at) })),
    FormArchived: ({ data, at }) =>
      changed(data.form_id, (form) => ({ ...form, status: 'archived', updated_at: iso(at) })),
    FormDeleted: ({ data }) => [touch<FormDoc>('forms', data.form_id, () => undefined)],
  },
});

// Queries

export const formById = (
  reader: DocumentReader,
  tenantId: string,
  id: string,
): Promise<FormDoc | undefined> => reader.get('forms', tenantId, id);

/** The forms of a tenant, newest first. */
export const formsOf = (
  reader: DocumentReader,
  tenantId: string,
  page: { limit: number; after: PageEnd | undefined },
): Promise<Page<FormDoc>> =>
  reader.find('forms', tenantId, { index: 'by_created_at', equals: [], order: 'desc', ...page });
