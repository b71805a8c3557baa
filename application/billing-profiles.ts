import {
  type BillingProfile,
  changeProfile,
  PROFILE_ID,
  profileDecider,
  profileOf,
} from '../domain/billing/profile.ts';
import { partnerScope } from '../domain/partners/partner.ts';
import type { CommandHandler } from './command-handler.ts';
import type { Position } from './ports/event-store.ts';
import type { RequestContext } from './request-context.ts';
import type { StreamStates } from './stream-states.ts';

/** How a partner's invoice lines read (decisions, section 10, Profile). The partner is the credential's. */
export class BillingProfiles {
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;

  constructor(deps: { commands: CommandHandler; states: StreamStates }) {
    this.#commands = deps.commands;
    this.#states = deps.states;
  }

  /** The chosen profile, or the default one. */
  async get(partnerId: string): Promise<BillingProfile> {
    return profileOf((await this.#states.load(partnerScope(partnerId), profileDecider, PROFILE_ID)).state);
  }

  /** @throws `unknown_template_variable` */
  async change(
    partnerId: string,
    wanted: BillingProfile,
    context: RequestContext,
  ): Promise<{ profile: BillingProfile; position: Position | undefined }> {
    const { state, position } = await this.#commands.execute({
      tenantId: partnerScope(partnerId),
      decider: profileDecider,
      id: PROFILE_ID,
      cause: context.cause,
      again: context.again,
      decide: (profile) => changeProfile(profile, wanted),
    });
    return { profile: profileOf(state), position };
  }
}
