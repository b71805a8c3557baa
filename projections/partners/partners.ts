import { byCreatedAt, platformCollection } from '../../domain/core/collection.ts';
import { defined } from '../../domain/core/event.ts';
import { iso, projection } from '../../domain/core/projection.ts';
import type { PartnerEvent, PartnerSettings } from '../../domain/partners/partner.ts';

/** The platform's partners (decisions, section 3, Platform), stored under the platform like their streams. */

export interface PartnerDoc extends PartnerSettings {
  readonly id: string;
  readonly created_at: string;
}

const partners = platformCollection<PartnerDoc>('partners');

export const partnersProjection = projection<PartnerEvent>({
  name: 'partners',
  version: 1,
  collections: [{ name: 'partners', indexes: [byCreatedAt] }],
  on: {
    PartnerCreated: ({ data: { partner_id: id, ...settings }, at }) => [
      partners.put(id, { id, ...settings, created_at: iso(at) }),
    ],
    PartnerChanged: ({ data: { partner_id, ...values } }) => [partners.merge(partner_id, defined(values))],
  },
});

// Queries

/** All partners, oldest first. */
export const allPartners = partners.list('by_created_at', 'asc');
