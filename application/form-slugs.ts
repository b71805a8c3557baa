import { type Form, formDecider, isForm } from '../domain/forms/form.ts';
import {
  type FormSlug,
  formSlugDecider,
  freeSlug,
  refuseTakenSlug,
  takeSlug,
  type Usage,
} from '../domain/forms/slug.ts';
import type { Cause } from './codec.ts';
import type { CommandHandler } from './command-handler.ts';
import type { Clock } from './ports/clock.ts';
import type { StreamStates } from './stream-states.ts';
import { streamName } from './streams.ts';

export interface SlugClaim {
  readonly slug: string;
  readonly formId: string;
  readonly claimId: string;
}

/** Keeps slugs unique within a tenant; see `domain/forms/slug.ts`. */
export class FormSlugs {
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;
  readonly #clock: Clock;

  constructor(deps: { commands: CommandHandler; states: StreamStates; clock: Clock }) {
    this.#commands = deps.commands;
    this.#states = deps.states;
    this.#clock = deps.clock;
  }

  /** As the store has it now. */
  async form(tenantId: string, formId: string): Promise<Form> {
    const stream = streamName(tenantId, formDecider.category, formId);
    // The stream's name says which decider folded it.
    return (await this.#states.refresh(stream, formDecider)).state as Form;
  }

  /** As the store has it now. What is not there is not kept in memory: strangers may ask for anything. */
  async holder(tenantId: string, slug: string): Promise<FormSlug> {
    const stream = streamName(tenantId, formSlugDecider.category, slug);
    const { state, revision } = await this.#states.refresh(stream, formSlugDecider);
    if (revision < 0) this.#states.drop(stream);
    // The stream's name says which decider folded it.
    return state as FormSlug;
  }

  /** Nothing is written. @throws `already_exists` */
  async refuseTaken(tenantId: string, slug: string, formId: string): Promise<void> {
    const state = await this.holder(tenantId, slug);
    refuseTakenSlug(state, formId, await this.#usage(tenantId, slug, state), { now: this.#clock.now() });
  }

  /** @throws `already_exists` */
  async take(tenantId: string, claim: SlugClaim, cause: Cause): Promise<void> {
    await this.#commands.execute({
      tenantId,
      decider: formSlugDecider,
      id: claim.slug,
      cause,
      prepare: ({ state }) => this.#usage(tenantId, claim.slug, state),
      decide: (state, context, usage) => takeSlug(state, claim, usage, context),
    });
  }

  /** Whether the slug is still held by this very claim. */
  async holds(tenantId: string, { slug, formId, claimId }: SlugClaim): Promise<boolean> {
    const { claim } = await this.holder(tenantId, slug);
    return claim?.formId === formId && claim.claimId === claimId;
  }

  async free(tenantId: string, claim: SlugClaim, cause: Cause): Promise<void> {
    await this.#commands.execute({
      tenantId,
      decider: formSlugDecider,
      id: claim.slug,
      cause,
      decide: (state) => freeSlug(state, claim),
    });
  }

  async #usage(tenantId: string, slug: string, { claim }: FormSlug): Promise<Usage> {
    if (claim === undefined) return 'gone';
    const form = await this.form(tenantId, claim.formId);
    if (form.status === 'deleted') return 'gone';
    return isForm(form) && form.slug === slug ? 'used' : 'unused';
  }
}
