import { createHash } from 'node:crypto';
import { DomainError, notFound } from '../../domain/core/errors.ts';
import {
  createLink,
  isLive,
  type Lifetime,
  type Links,
  type LinkTarget,
  linkStream,
  revokeLink,
} from '../../domain/workflow/link.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { randomBytes } from '../core/runtime/random.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import type { Jobs } from './jobs.ts';

/** 32 bytes in base64url. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Finds the unrevoked link of a token by the token's SHA-256 in lower-case hex. */
export type LinkLookup = (tokenHash: string) => Promise<LinkTarget | undefined>;

/** The target of an unknown token, so that its check takes as long as the check of a known token. */
const UNKNOWN_LINK: LinkTarget = {
  tenant_id: 'platform',
  link_id: '',
  job_id: '00000000-0000-0000-0000-000000000000',
  entity_id: '',
  page_slug: '',
  expires_at: '1970-01-01T00:00:00.000Z',
};

/** Use cases on public links (specification, Access tokens; decisions, section 6, Public link). */
export class PublicLinks extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly lookUp: LinkLookup;
}> {
  /**
   * @returns `token`, which is not stored; undefined for a repeated request whose first try made the link
   * @throws `not_found`, `constraint_violated`
   */
  async create(
    tenantId: string,
    jobId: string,
    link: { readonly pageSlug: string; readonly expiresIn: Lifetime },
    context: RequestContext,
  ): Promise<Written<{ id: string; token: string | undefined; expiresAt: string }>> {
    await this.deps.jobs.find(tenantId, jobId);
    const token = randomBytes(32).toString('base64url');
    const tokenHash = hashOf(token);
    const linkId = context.newId();
    const outcome = await this.deps.streams
      .of(linkStream, tenantId, jobId)
      .execute(context, (state, at) => createLink(state, { linkId, jobId, tokenHash, ...link }, at));
    const [created] = outcome.events;
    if (created?.type !== 'PublicLinkCreated') {
      throw new DomainError('internal_error', 'The command created no link.');
    }
    const { data } = created;
    return {
      id: data.link_id,
      token: data.token_hash === tokenHash ? token : undefined,
      expiresAt: data.expires_at,
      position: outcome.position,
    };
  }

  /** Has no effect on a revoked link. @throws `not_found` */
  async revoke(
    tenantId: string,
    jobId: string,
    linkId: string,
    context: RequestContext,
  ): Promise<Position | undefined> {
    await this.deps.jobs.find(tenantId, jobId);
    const { position } = await this.deps.streams
      .of(linkStream, tenantId, jobId)
      .execute({ cause: context.cause }, (state) => revokeLink(state, { linkId, jobId }));
    return position;
  }

  /**
   * The target of a token, checked against the present tenant, job and link.
   * @throws `not_found`, with the same message in all cases
   */
  async validate(token: string): Promise<LinkTarget> {
    const target = (TOKEN.test(token) ? await this.deps.lookUp(hashOf(token)) : undefined) ?? UNKNOWN_LINK;
    const { tenant_id: tenantId, job_id: jobId, link_id: linkId } = target;
    const [tenant, links, hasJob] = await Promise.all([
      this.deps.directory.tenant(tenantId),
      this.#linksNow(tenantId, jobId),
      this.deps.jobs.find(tenantId, jobId).then(
        () => true,
        (error: unknown) => {
          if (error instanceof DomainError && error.code === 'not_found') return false;
          throw error;
        },
      ),
    ]);
    const link = links.find(({ id }) => id === linkId);
    const isGood = link !== undefined && isLive(link, this.deps.clock.now());
    if (!isGood || !hasJob || tenant?.status !== 'active') throw notFound();
    return target;
  }

  /** Read from the store, since another node may have changed the links. */
  async #linksNow(tenantId: string, jobId: string): Promise<Links['links']> {
    const stream = this.deps.streams.of(linkStream, tenantId, jobId);
    const { state, revision } = await stream.refresh();
    if (revision < 0) stream.evict();
    return state.links;
  }
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
