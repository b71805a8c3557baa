import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Partners } from '../../../application/partners/partners.ts';
import { iso } from '../../../domain/core/projection.ts';
import { type ExistingPartner, isPartnerId } from '../../../domain/partners/partner.ts';
import { allPartners } from '../../../projections/partners/partners.ts';
import type { Route } from '../../http/route.ts';
import { text, timestamp } from '../../http/schemas.ts';
import { creation, listReply, ok, one, pagedList, shown, written } from '../replies.ts';
import { bothPaths, platformRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly partners: Partners;
  readonly readModels: ReadModels;
}

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
  .meta({ description: 'The partner’s own tenant, which has its ledger.' });

const newPartner = z.object({
  id: z
    .string()
    .refine(isPartnerId, 'A partner id has lower-case letters, digits and _, and begins with a letter.'),
  name,
  home_tenant_id: homeTenantId.optional(),
});
const partnerChange = z.object({ name: name.optional(), home_tenant_id: homeTenantId.optional() });
const partnerParams = z.object({ id: z.string().refine(isPartnerId) });

const viewOf = (partner: ExistingPartner) =>
  shown(partnerView, { ...partner, created_at: iso(partner.createdAt) });
const reply = written('partner', viewOf);

/** Partners, for platform admins (decisions, section 3, Platform). */
export const partnerRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('partners');
  return tagged('Platform', [
    platformRoute({
      ...creation(partnerView, newPartner),
      ...bothPaths('/super/partners'),
      operationId: 'createPartner',
      summary: 'Create a partner',
      description:
        'The id is a slug that never changes. `home_tenant_id` is the partner’s own tenant, which gets the ' +
        'event `partner_invoice.issued`.',
      errors: ['already_exists', 'constraint_violated'],
      handle: async ({ body, context }) => reply(201, await deps.partners.create(body, context)),
    }),

    platformRoute({
      ...pagedList(partnerView),
      ...bothPaths('/super/partners'),
      operationId: 'listPartners',
      summary: 'All partners, oldest first',
      description: 'All partners of the platform.',
      reads: ['partners'],
      handle: ({ query }) => listReply(query, (page) => allPartners(reader, page)),
    }),

    platformRoute({
      ...one('get', partnerView, partnerParams),
      ...bothPaths('/super/partners/:id'),
      operationId: 'getPartner',
      summary: 'One partner',
      description: 'The name of a partner and its own tenant.',
      handle: async ({ params }) => ok(viewOf(await deps.partners.get(params.id))),
    }),

    platformRoute({
      ...one('patch', partnerView, partnerParams),
      ...bothPaths('/super/partners/:id'),
      operationId: 'changePartner',
      summary: 'Change a partner’s name or its own tenant',
      description: 'Send the fields that change.',
      body: partnerChange,
      errors: ['constraint_violated'],
      handle: async ({ params, body, context }) =>
        reply(200, await deps.partners.change(params.id, body, context)),
    }),
  ]);
};
