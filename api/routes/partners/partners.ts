import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Partners } from '../../../application/partners/partners.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { type ExistingPartner, isPartnerId } from '../../../domain/partners/partner.ts';
import { allPartners, type PartnerDoc } from '../../../projections/partners/partners.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, limit, text, timestamp } from '../../http/schemas.ts';
import { platformPath, platformRoute } from '../route-kinds.ts';

interface Deps {
  readonly ids: Ids;
  readonly partners: Partners;
  readonly readModels: ReadModels;
}

/** Partners, for platform admins (decisions, section 3, Platform). */

const TAG = 'Platform';

const partnerView = z
  .object({
    id: z.string(),
    name: z.string(),
    home_tenant_id: z.string().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'Partner' });

const name = text({ max: 200 });
/** Any text; an unknown tenant is a 422. */
const homeTenantId = z
  .string()
  .max(64)
  .nullable()
  .meta({ description: 'The partner’s own tenant, where its books are.' });

const newPartner = z.object({
  id: z
    .string()
    .refine(isPartnerId, 'A partner id is lower-case letters, digits and _, and begins with a letter.'),
  name,
  home_tenant_id: homeTenantId.optional(),
});
const partnerChange = z.object({ name: name.optional(), home_tenant_id: homeTenantId.optional() });
const partnerParams = z.object({ id: z.string().refine(isPartnerId) });

const viewOf = (partner: ExistingPartner): PartnerDoc => ({
  id: partner.id,
  name: partner.name,
  home_tenant_id: partner.home_tenant_id,
  created_at: new Date(partner.createdAt).toISOString(),
});

export const partnerRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('partners');
  return [
    platformRoute({
      method: 'post',
      ...platformPath('/super/partners'),
      operationId: 'createPartner',
      summary: 'Create a partner',
      tag: TAG,
      body: newPartner,
      responses: { 201: partnerView },
      errors: ['already_exists', 'constraint_violated'],
      handle: async (request) => {
        const { partner, position } = await deps.partners.create(request.body, contextOf(deps, request));
        return { status: 201, body: viewOf(partner), position };
      },
    }),

    platformRoute({
      method: 'get',
      ...platformPath('/super/partners'),
      operationId: 'listPartners',
      summary: 'All partners, oldest first',
      tag: TAG,
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(partnerView) },
      reads: ['partners'],
      handle: async (request) => {
        const after = decodeCursor(request.query.cursor);
        const page = await allPartners(reader, { limit: request.query.limit, after });
        return { status: 200, body: page.docs, next: nextPage(page.next) };
      },
    }),

    platformRoute({
      method: 'get',
      ...platformPath('/super/partners/:id'),
      operationId: 'getPartner',
      summary: 'One partner',
      tag: TAG,
      params: partnerParams,
      responses: { 200: partnerView },
      errors: ['not_found'],
      handle: async (request) => ({ status: 200, body: viewOf(await deps.partners.get(request.params.id)) }),
    }),

    platformRoute({
      method: 'patch',
      ...platformPath('/super/partners/:id'),
      operationId: 'changePartner',
      summary: 'Change a partner’s name or its own tenant',
      tag: TAG,
      params: partnerParams,
      body: partnerChange,
      responses: { 200: partnerView },
      errors: ['not_found', 'constraint_violated'],
      handle: async (request) => {
        const changed = await deps.partners.change(request.params.id, request.body, contextOf(deps, request));
        return { status: 200, body: viewOf(changed.partner), position: changed.position };
      },
    }),
  ];
};
