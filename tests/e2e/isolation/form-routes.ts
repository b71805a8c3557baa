import { FORMS, newSlug } from '../forms/support.ts';
import type { Attack } from './routes.ts';

/** Attacks on forms. */
export const FORM_ROUTES: Readonly<Record<string, Attack>> = {
  'GET /api/v1/tenant/forms': ({ cursor, tenant }) => [
    { method: 'GET', path: `${FORMS}?cursor=${cursor}` },
    { method: 'GET', path: `${FORMS}?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/forms': ({ entity, tenant }, own) => {
    const body = {
      slug: newSlug(),
      title: 'Taken',
      entity_name: own.entity,
      fields: [{ field_key: 'title' }],
    };
    return [
      { method: 'POST', path: FORMS, body: { ...body, entity_name: entity } },
      { method: 'POST', path: FORMS, body: { ...body, tenant_id: tenant } },
    ];
  },
  'GET /api/v1/tenant/forms/{id}': ({ form }) => [{ method: 'GET', path: `${FORMS}/${form}` }],
  'PATCH /api/v1/tenant/forms/{id}': ({ form, entity }, own) => [
    { method: 'PATCH', path: `${FORMS}/${form}`, body: { title: 'Taken' } },
    { method: 'PATCH', path: `${FORMS}/${form}`, body: { slug: newSlug() } },
    { method: 'PATCH', path: `${FORMS}/${form}`, body: {} },
    { method: 'PATCH', path: `${FORMS}/${own.form}`, body: { entity_name: entity } },
  ],
  'DELETE /api/v1/tenant/forms/{id}': ({ form }) => [{ method: 'DELETE', path: `${FORMS}/${form}` }],
  'POST /api/v1/tenant/forms/{id}/publish': ({ form }) => [
    { method: 'POST', path: `${FORMS}/${form}/publish` },
  ],
  'POST /api/v1/tenant/forms/{id}/archive': ({ form }) => [
    { method: 'POST', path: `${FORMS}/${form}/archive` },
  ],
};
