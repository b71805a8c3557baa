import { collection, platformCollection } from '../../domain/core/collection.ts';
import { iso, projection } from '../../domain/core/projection.ts';
import type { LinkEvent, LinkTarget } from '../../domain/workflow/link.ts';

/** Public links of jobs, and the tenant of each token (decisions, section 6, Public link). */

interface LinkDoc {
  readonly id: string;
  readonly job_id: string;
  readonly page_slug: string;
  readonly expires_at: string;
  readonly revoked_at: string | null;
  readonly created_at: string;
  readonly created_by: { readonly kind: string; readonly id: string };
}

const links = collection<LinkDoc>('links');
/** Stored under the platform with the token's hash as id, and removed when the link is revoked. */
const tokens = platformCollection<LinkTarget>('link_tokens');

export const linksProjection = projection<LinkEvent>({
  name: 'links',
  version: 1,
  collections: [
    { name: 'links', indexes: [{ name: 'by_job', fields: ['job_id', 'created_at'] }] },
    { name: 'link_tokens', indexes: [] },
  ],
  on: {
    PublicLinkCreated: ({ data, at, tenantId, actor }) => [
      links.put(data.link_id, {
        id: data.link_id,
        job_id: data.job_id,
        page_slug: data.page_slug,
        expires_at: data.expires_at,
        revoked_at: null,
        created_at: iso(at),
        created_by: { kind: actor.kind, id: actor.id },
      }),
      tokens.put(data.token_hash, {
        tenant_id: tenantId,
        link_id: data.link_id,
        job_id: data.job_id,
        entity_id: data.entity_id,
        page_slug: data.page_slug,
        expires_at: data.expires_at,
      }),
    ],
    PublicLinkRevoked: ({ data, at }) => [
      links.merge(data.link_id, { revoked_at: iso(at) }),
      tokens.remove(data.token_hash),
    ],
  },
});

// Queries

/** Links of a job, newest first, including revoked and expired links. */
export const linksOf = links.listOf('by_job', 'desc');

export const linkOfToken = tokens.get;
