import { z } from 'zod';
import { DomainError } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type DecisionContext, folded, type StreamType } from '../core/stream-type.ts';

/**
 * Decides which form of a tenant holds a slug, in one stream per slug: `form_slug-<slug>`. No append covers two
 * streams, so a slug is claimed first, then the form is written with the claim. An unused claim expires after a minute,
 * the claim of a deleted form at once.
 */

const claim = z.object({ slug: z.string(), form_id: z.string(), claim_id: z.string() });

export const FormSlugTaken = defineEvent('FormSlugTaken', claim);
export const FormSlugFreed = defineEvent('FormSlugFreed', claim);

export const formSlugEvents = [FormSlugTaken, FormSlugFreed] as const;
export type FormSlugEvent = EventOf<(typeof formSlugEvents)[number]>;

export interface Claim {
  readonly formId: string;
  readonly claimId: string;
  /** ms */
  readonly since: number;
}
export interface FormSlug {
  readonly claim: Claim | undefined;
}

export const formSlugStream: StreamType<FormSlug, FormSlugEvent> = {
  category: 'form_slug',
  stateVersion: 1,
  initial: { claim: undefined },
  evolve: folded({
    FormSlugTaken: (_state, data, { at }) => ({
      claim: { formId: data.form_id, claimId: data.claim_id, since: at },
    }),
    FormSlugFreed: () => ({ claim: undefined }),
  }),
};

const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/;
export const isSlug = (text: string): boolean => SLUG.test(text);

const CLAIM_MS = 60_000;

/** The claiming form uses the slug, does not use it (or does not exist yet), or was deleted. */
export type Usage = 'used' | 'unused' | 'gone';

/** @param usage of the present claim @throws `already_exists` when another form holds the slug */
export const checkSlugFree = (
  { claim: held }: FormSlug,
  formId: string,
  usage: Usage,
  { now }: DecisionContext,
): void => {
  if (held === undefined || held.formId === formId || usage === 'gone') return;
  if (usage === 'unused' && now - held.since >= CLAIM_MS) return;
  throw slugTaken();
};

export const slugTaken = (): DomainError =>
  new DomainError('already_exists', 'Another form has this slug.', { field: 'slug' });

/** A slug that a form claims. */
export interface SlugClaim {
  readonly slug: string;
  readonly formId: string;
  readonly claimId: string;
}

const data = ({ slug, formId, claimId }: SlugClaim) => ({ slug, form_id: formId, claim_id: claimId });

/**
 * Claims a slug. A form that holds the slug gets a new claim, so that releasing the earlier claim has no effect.
 * @throws `already_exists`
 */
export const takeSlug = (
  state: FormSlug,
  command: SlugClaim,
  usage: Usage,
  context: DecisionContext,
): readonly FormSlugEvent[] => {
  checkSlugFree(state, command.formId, usage, context);
  if (state.claim?.formId === command.formId && state.claim.claimId === command.claimId) return [];
  return decided(FormSlugTaken, data(command));
};

/** No events for a claim that another claim has replaced. */
export const freeSlug = ({ claim: held }: FormSlug, command: SlugClaim): readonly FormSlugEvent[] =>
  held?.formId === command.formId && held.claimId === command.claimId
    ? decided(FormSlugFreed, data(command))
    : [];
