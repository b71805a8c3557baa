import { z } from 'zod';
import { notFound, violated } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type DecisionContext, folded, type StreamType } from '../core/stream-type.ts';

/**
 * Public links of a job (specification, Access tokens; decisions, section 6, Public link), in the stream `link-<job
 * id>`. Only a token's SHA-256 is stored, bound to one job, entity and page.
 */

// Events

export const PublicLinkCreated = defineEvent(
  'PublicLinkCreated',
  z.object({
    link_id: z.string(),
    job_id: z.string(),
    entity_id: z.string(),
    page_slug: z.string(),
    /** SHA-256 of the token, lower-case hex. */
    token_hash: z.string(),
    expires_at: z.string(),
  }),
);
export const PublicLinkRevoked = defineEvent(
  'PublicLinkRevoked',
  z.object({ link_id: z.string(), job_id: z.string(), token_hash: z.string() }),
);

export const linkEvents = [PublicLinkCreated, PublicLinkRevoked] as const;
export type LinkEvent = EventOf<(typeof linkEvents)[number]>;

/** The target of a token. */
export type LinkTarget = Readonly<Omit<z.output<typeof PublicLinkCreated.schema>, 'token_hash'>> & {
  readonly tenant_id: string;
};

// State

export interface Link {
  readonly id: string;
  readonly tokenHash: string;
  /** ms */
  readonly expiresAt: number;
  readonly revoked: boolean;
}
/** All live links of a job and its latest ended links, oldest first. */
export interface Links {
  readonly links: readonly Link[];
}

/** Maximum of live links of a job. */
export const MAX_LIVE = 1000;
const MAX_ENDED = 1000;

export const isLive = (link: Link, now: number): boolean => !link.revoked && now < link.expiresAt;

const bounded = (links: readonly Link[], now: number): readonly Link[] => {
  if (links.length <= MAX_LIVE + MAX_ENDED) return links;
  const ended = links.filter((link) => !isLive(link, now));
  const forgotten = new Set(ended.slice(0, ended.length - MAX_ENDED));
  return links.filter((link) => !forgotten.has(link));
};

export const linkStream: StreamType<Links, LinkEvent> = {
  category: 'link',
  stateVersion: 1,
  initial: { links: [] },
  evolve: folded({
    PublicLinkCreated: ({ links }, { link_id: id, token_hash: tokenHash, expires_at }, { at }) => {
      const link = { id, tokenHash, expiresAt: Date.parse(expires_at), revoked: false };
      return { links: bounded([...links, link], at) };
    },
    PublicLinkRevoked: ({ links }, { link_id }) => ({
      links: links.map((link) => (link.id === link_id ? { ...link, revoked: true } : link)),
    }),
  }),
};

// Decide

export const LIFETIMES = { '1d': 1, '7d': 7, '30d': 30, '90d': 90 } as const;
export type Lifetime = keyof typeof LIFETIMES;
const DAY_MS = 86_400_000;

interface CreateLink {
  readonly linkId: string;
  /** Also the id of the job's record. */
  readonly jobId: string;
  readonly pageSlug: string;
  readonly tokenHash: string;
  readonly expiresIn: Lifetime;
}

/** @throws `constraint_violated` above {@link MAX_LIVE} live links */
export const createLink = (
  { links }: Links,
  command: CreateLink,
  { now }: DecisionContext,
): readonly LinkEvent[] => {
  if (links.filter((link) => isLive(link, now)).length >= MAX_LIVE) {
    throw violated('job_id', 'too_big', `A job can have at most ${MAX_LIVE} live links.`);
  }
  return decided(PublicLinkCreated, {
    link_id: command.linkId,
    job_id: command.jobId,
    entity_id: command.jobId,
    page_slug: command.pageSlug,
    token_hash: command.tokenHash,
    expires_at: new Date(now + LIFETIMES[command.expiresIn] * DAY_MS).toISOString(),
  });
};

/** A repeated command gives no events. @throws `not_found` */
export const revokeLink = (
  { links }: Links,
  command: { readonly linkId: string; readonly jobId: string },
): readonly LinkEvent[] => {
  const link = links.find(({ id }) => id === command.linkId);
  if (link === undefined) throw notFound();
  if (link.revoked) return [];
  return decided(PublicLinkRevoked, { link_id: link.id, job_id: command.jobId, token_hash: link.tokenHash });
};
