import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Forms } from '../../../application/forms/forms.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { iso } from '../../../domain/core/projection.ts';
import { isName, NAME_RULE } from '../../../domain/entities/fields.ts';
import { type ExistingForm, FORM_STATUSES, storedFormField } from '../../../domain/forms/form.ts';
import { isSlug } from '../../../domain/forms/slug.ts';
import { type FormDoc, formById, formsOf } from '../../../projections/forms/forms.ts';
import type { Route } from '../../http/route.ts';
import { filledText, idParams, timestamp } from '../../http/schemas.ts';
import { creation, found, gone, listReply, ok, one, pagedList, removal, written } from '../replies.ts';
import { scopedRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly forms: Forms;
  readonly readModels: ReadModels;
}

const BASE = '/api/v1/tenant/forms';
const MAX_FIELDS = 100;

const slug = z
  .string()
  .refine(isSlug, 'A slug must match ^[a-z0-9][a-z0-9-]{0,62}$.')
  .meta({ override: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$' } });
const named = filledText(200, 'This must not be blank.');
const entityName = z.string().refine(isName, NAME_RULE);
const fields = listOf(
  z.object({
    field_key: z.string().max(100),
    label: named.optional().meta({ description: 'Default: the label of the entity’s field.' }),
    required: z.boolean().default(false),
  }),
  { min: 1, max: MAX_FIELDS },
);
const formBody = z.object({ slug, title: named, entity_name: entityName, fields });

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

const stateView = (form: ExistingForm): FormDoc => ({
  id: form.id,
  slug: form.slug,
  title: form.title,
  entity_name: form.entityName,
  fields: form.fields,
  status: form.status,
  created_at: iso(form.createdAt),
  updated_at: iso(form.updatedAt),
});

const reply = written('form', stateView);

/** Forms (decisions, section 6, Form). */
export const formRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('forms');

  return tagged('Forms', [
    scopedRoute({
      ...creation(formView, formBody),
      path: BASE,
      operationId: 'createForm',
      summary:
        'Create a form as a draft; its fields are text, number, date, boolean and enum fields of the entity',
      description: 'A form shows fields of an entity with its own labels. A new form is a draft.',
      scope: 'forms:write',
      roles: ['admin'],
      errors: ['already_exists', 'constraint_violated'],
      handle: async ({ principal, body: { entity_name, ...rest }, context }) => {
        const given = { ...rest, entityName: entity_name };
        return reply(201, await deps.forms.create(principal.tenantId, given, context));
      },
    }),

    scopedRoute({
      ...pagedList(formView),
      path: BASE,
      operationId: 'listForms',
      summary: 'The forms of the tenant, newest first',
      description: 'Drafts, published and archived forms.',
      scope: 'forms:read',
      reads: ['forms'],
      handle: ({ principal, query }) => listReply(query, (page) => formsOf(reader, principal.tenantId, page)),
    }),

    scopedRoute({
      ...one('get', formView, idParams),
      path: `${BASE}/:id`,
      operationId: 'getForm',
      summary: 'A form',
      description: 'The form with its fields and its current state.',
      scope: 'forms:read',
      reads: ['forms'],
      handle: async ({ principal, params }) =>
        ok(found(await formById(reader, principal.tenantId, params.id))),
    }),

    scopedRoute({
      ...one('patch', formView, idParams),
      path: `${BASE}/:id`,
      operationId: 'changeForm',
      summary: 'Change a form, a published form at once; `fields` replaces all fields',
      description: 'Send the parts that change.',
      scope: 'forms:write',
      roles: ['admin'],
      body: formBody.partial(),
      errors: ['already_exists', 'constraint_violated', 'conflict'],
      handle: async ({ principal: { tenantId }, params, body: { entity_name, ...rest }, context }) => {
        const change = { ...rest, entityName: entity_name };
        return reply(200, await deps.forms.change(tenantId, params.id, change, context));
      },
    }),

    scopedRoute({
      ...one('post', formView, idParams),
      path: `${BASE}/:id/publish`,
      operationId: 'publishForm',
      summary: 'Publish a draft or an archived form; publishing a published form changes nothing',
      description: 'From now on `/public/forms/{tenant}/{slug}` shows it, without a sign-in.',
      scope: 'forms:admin',
      roles: ['admin'],
      errors: ['constraint_violated'],
      handle: async ({ principal: { tenantId }, params, context }) =>
        reply(200, await deps.forms.publish(tenantId, params.id, context)),
    }),

    scopedRoute({
      ...one('post', formView, idParams),
      path: `${BASE}/:id/archive`,
      operationId: 'archiveForm',
      summary: 'Archive a form or a draft; it keeps its slug and can be published again',
      description: 'The public page answers 404 until the form is published again.',
      scope: 'forms:admin',
      roles: ['admin'],
      handle: async ({ principal: { tenantId }, params, context }) =>
        reply(200, await deps.forms.archive(tenantId, params.id, context)),
    }),

    scopedRoute({
      ...removal(idParams),
      path: `${BASE}/:id`,
      operationId: 'deleteForm',
      summary: 'Delete a form; its slug becomes free, and submitted records stay',
      description: 'Records that came in through the form stay.',
      scope: 'forms:admin',
      roles: ['admin'],
      handle: async ({ principal: { tenantId }, params, context }) =>
        gone(await deps.forms.delete(tenantId, params.id, context)),
    }),
  ]);
};
