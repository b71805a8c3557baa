import { type Form, formStream, isForm } from '../../domain/forms/form.ts';
import {
  checkSlugFree,
  type FormSlug,
  formSlugStream,
  freeSlug,
  type SlugClaim,
  takeSlug,
  type Usage,
} from '../../domain/forms/slug.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';

/** Keeps slugs unique within a tenant; see `domain/forms/slug.ts`. */
export class FormSlugs extends WithDeps<{ streams: Streams; clock: Clock }> {
  /** The form as stored now. */
  async form(tenantId: string, formId: string): Promise<Form> {
    return (await this.deps.streams.of(formStream, tenantId, formId).refresh()).state;
  }

  /** The slug as stored now. Unknown slugs are evicted from the cache, since anyone may request them. */
  async load(tenantId: string, slug: string): Promise<FormSlug> {
    const stream = this.deps.streams.of(formSlugStream, tenantId, slug);
    const { state, revision } = await stream.refresh();
    if (revision < 0) stream.evict();
    return state;
  }

  /** Checks without writing. @throws `already_exists` */
  async refuseTaken(tenantId: string, slug: string, formId: string): Promise<void> {
    const state = await this.load(tenantId, slug);
    checkSlugFree(state, formId, await this.#usage(tenantId, slug, state), { now: this.deps.clock.now() });
  }

  /** @throws `already_exists` */
  async take(tenantId: string, claim: SlugClaim, cause: Cause): Promise<void> {
    await this.deps.streams.of(formSlugStream, tenantId, claim.slug).execute(
      { cause },
      {
        prepare: ({ state }) => this.#usage(tenantId, claim.slug, state),
        decide: (state, context, usage) => takeSlug(state, claim, usage, context),
      },
    );
  }

  /** Whether this claim still holds the slug. */
  async holds(tenantId: string, { slug, formId, claimId }: SlugClaim): Promise<boolean> {
    const { claim } = await this.load(tenantId, slug);
    return claim?.formId === formId && claim.claimId === claimId;
  }

  async free(tenantId: string, claim: SlugClaim, cause: Cause): Promise<void> {
    await this.deps.streams
      .of(formSlugStream, tenantId, claim.slug)
      .execute({ cause }, (state) => freeSlug(state, claim));
  }

  async #usage(tenantId: string, slug: string, { claim }: FormSlug): Promise<Usage> {
    if (claim === undefined) return 'gone';
    const form = await this.form(tenantId, claim.formId);
    if (form.status === 'deleted') return 'gone';
    return isForm(form) && form.slug === slug ? 'used' : 'unused';
  }
}
