import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Forms } from '../../../application/forms/forms.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { isName, NAME_RULE } from '../../../domain/entities/fields.ts';
import { type ExistingForm, FORM_STATUSES, storedFormField } from '../../../domain/forms/form.ts';
import { isSlug } from '../../../domain/forms/slug.ts';
import { type FormDoc, formById, formsOf } from '../../../projections/forms/forms.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, idParams, limit, text, timestamp } from '../../http/schemas.ts';
import { scopedRoute } from '../route-kinds.ts';

interface Deps {
  readonly forms: Forms;
  readonly ids: Ids;
  readonly readModels: ReadModels;
}

/** Forms (decisions, section 6, Form). */

const BASE = '/api/v1/tenant/forms';
const TAG = 'Forms';
const MAX_FIELDS = 100;

const slug = z
  .string()
  .refine(isSlug, 'A slug must match ^[a-z0-9][a-z0-9-]{0,62}$.')
  .meta({ override: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$' } });
const named = text({ max: 200 }).refine(
  (value) => value.trim() !== '',
  'This must not be white space alone.',
);
const entityName = z.string().refine(isName, NAME_RULE);
const fields = listOf(
  z.object({
    field_key: z.string().max(100),
    label: named.optional().meta({ description: 'The entity’s own label unless given.' }),
    required: z.boolean().default(false),
  }),
  { min: 1, max: MAX_FIELDS },
);

const formView = z
  .object({
    id: z.string(),
    slug: z.string(),
    title: z.string(),
    entity_name: z.string(),
    fields: z.array(storedFormField),
    status: z.enum(FORM_STATUSES),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Form' });
type FormView = z.output<typeof formView>;

const docView = (doc: FormDoc): FormView => ({
  id: doc.id,
  slug: doc.slug,
  title: doc.title,
  entity_name: doc.entity_name,
  fields: [...doc.fields],
  status: doc.status,
  created_at: doc.created_at,
  updated_at: doc.updated_at,
});

const stateView = (form: ExistingForm): FormView => ({
  id: form.id,
  slug: form.slug,
  title: form.title,
  entity_name: form.entityName,
  fields: [...form.fields],
  status: form.status,
  created_at: new Date(form.createdAt).toISOString(),
  updated_at: new Date(form.updatedAt).toISOString(),
});

export const formRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('forms');

  return [
    scopedRoute({
      method: 'post',
      path: BASE,
      operationId: 'createForm',
      summary:
        'Begin a form as a draft; its fields are text, number, date, boolean and enum fields of the entity',
      tag: TAG,
      scope: 'forms:write',
      roles: ['admin'],
      body: z.object({ slug, title: named, entity_name: entityName, fields }),
      responses: { 201: formView },
      errors: ['already_exists', 'constraint_violated'],
      handle: async (request) => {
        const { entity_name, ...rest } = request.body;
        const given = { ...rest, entityName: entity_name };
        const made = await deps.forms.create(request.principal.tenantId, given, contextOf(deps, request));
        return { status: 201, body: stateView(made.form), position: made.position };
      },
    }),

    scopedRoute({
      method: 'get',
      path: BASE,
      operationId: 'listForms',
      summary: 'The forms of the tenant, newest first',
      tag: TAG,
      scope: 'forms:read',
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(formView) },
      reads: ['forms'],
      handle: async ({ principal, query }) => {
        const after = decodeCursor(query.cursor);
        const page = await formsOf(reader, principal.tenantId, { limit: query.limit, after });
        return { status: 200, body: page.docs.map(docView), next: nextPage(page.next) };
      },
    }),

    scopedRoute({
      method: 'get',
      path: `${BASE}/:id`,
      operationId: 'getForm',
      summary: 'A form',
      tag: TAG,
      scope: 'forms:read',
      params: idParams,
      responses: { 200: formView },
      reads: ['forms'],
      handle: async ({ principal, params }) => {
        const doc = await formById(reader, principal.tenantId, params.id);
        if (doc === undefined) throw notFound();
        return { status: 200, body: docView(doc) };
      },
    }),

    scopedRoute({
      method: 'patch',
      path: `${BASE}/:id`,
      operationId: 'changeForm',
      summary: 'Change a form; of a published one the change counts at once. `fields` is the full list',
      tag: TAG,
      scope: 'forms:write',
      roles: ['admin'],
      params: idParams,
      body: z.object({
        slug: slug.optional(),
        title: named.optional(),
        entity_name: entityName.optional(),
        fields: fields.optional(),
      }),
      responses: { 200: formView },
      errors: ['already_exists', 'constraint_violated', 'conflict'],
      handle: async (request) => {
        const { entity_name, ...rest } = request.body;
        const { tenantId } = request.principal;
        const change = { ...rest, entityName: entity_name };
        const context = contextOf(deps, request);
        const { form, position } = await deps.forms.change(tenantId, request.params.id, change, context);
        return { status: 200, body: stateView(form), position };
      },
    }),

    scopedRoute({
      method: 'post',
      path: `${BASE}/:id/publish`,
      operationId: 'publishForm',
      summary: 'Open a form to the public, an archived one again; a published one stays as it is',
      tag: TAG,
      scope: 'forms:admin',
      roles: ['admin'],
      params: idParams,
      responses: { 200: formView },
      errors: ['constraint_violated'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { form, position } = await deps.forms.publish(
          tenantId,
          request.params.id,
          contextOf(deps, request),
        );
        return { status: 200, body: stateView(form), position };
      },
    }),

    scopedRoute({
      method: 'post',
      path: `${BASE}/:id/archive`,
      operationId: 'archiveForm',
      summary: 'Close a form, a draft too; it keeps its slug, and publishing opens it again',
      tag: TAG,
      scope: 'forms:admin',
      roles: ['admin'],
      params: idParams,
      responses: { 200: formView },
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { form, position } = await deps.forms.archive(
          tenantId,
          request.params.id,
          contextOf(deps, request),
        );
        return { status: 200, body: stateView(form), position };
      },
    }),

    scopedRoute({
      method: 'delete',
      path: `${BASE}/:id`,
      operationId: 'deleteForm',
      summary: 'Delete a form; its slug is free again, and what was submitted stays',
      tag: TAG,
      scope: 'forms:admin',
      roles: ['admin'],
      params: idParams,
      responses: { 204: null },
      handle: async (request) => {
        const { tenantId } = request.principal;
        const position = await deps.forms.delete(tenantId, request.params.id, contextOf(deps, request));
        return { status: 204, position };
      },
    }),
  ];
};
