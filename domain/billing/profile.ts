import { z } from 'zod';
import { isSameJson } from '../core/canonical-json.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';
import { checkTemplate } from './template.ts';

/** A partner's billing profile: the texts of its invoice lines (decisions, section 10). One stream per partner. */

// Events

export const BillingProfileChanged = defineEvent(
  'BillingProfileChanged',
  z.object({ item_name_template: z.string(), item_description: z.string() }),
);

export const profileEvents = [BillingProfileChanged] as const;
export type ProfileEvent = EventOf<(typeof profileEvents)[number]>;

// State

export type BillingProfile = z.output<(typeof BillingProfileChanged)['schema']>;

/** `chosen` is undefined until the partner sets a profile. */
export interface ProfileState {
  readonly chosen?: BillingProfile;
}

export const profileStream: StreamType<ProfileState, ProfileEvent> = {
  category: 'profile',
  stateVersion: 1,
  initial: {},
  evolve: (_state, event) => ({ chosen: event.data }),
};

/** Id of a partner's only profile. */
export const PROFILE_ID = 'main';

/** Applies until a partner sets a profile. */
export const DEFAULT_PROFILE: BillingProfile = {
  item_name_template: '{{meter}} {{period}}',
  item_description: '{{quantity}} {{meter}} for {{customer}}',
};

export const profileOf = (state: ProfileState): BillingProfile => state.chosen ?? DEFAULT_PROFILE;

// Commands and decide

/**
 * Both texts are templates; unchanged values give no events.
 * @throws `unknown_template_variable`
 */
export const changeProfile = (state: ProfileState, wanted: BillingProfile): readonly ProfileEvent[] => {
  const { item_name_template, item_description } = wanted;
  checkTemplate(item_name_template, 'item_name_template');
  checkTemplate(item_description, 'item_description');
  const profile = { item_name_template, item_description };
  return isSameJson(state.chosen, profile) ? [] : decided(BillingProfileChanged, profile);
};
