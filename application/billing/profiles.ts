import {
  type BillingProfile,
  changeProfile,
  PROFILE_ID,
  profileOf,
  profileStream,
} from '../../domain/billing/profile.ts';
import { partnerScope } from '../../domain/partners/partner.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';

/** Texts of a partner's invoice lines (decisions, section 10, Profile); the partner comes from the credential. */
export class BillingProfiles extends WithDeps<{ streams: Streams }> {
  /** The stored profile, or the default profile. */
  async get(partnerId: string): Promise<BillingProfile> {
    return profileOf(
      (await this.deps.streams.of(profileStream, partnerScope(partnerId), PROFILE_ID).load()).state,
    );
  }

  /** @throws `unknown_template_variable` */
  async change(
    partnerId: string,
    wanted: BillingProfile,
    context: RequestContext,
  ): Promise<Written<{ profile: BillingProfile }>> {
    const { state, position } = await this.deps.streams
      .of(profileStream, partnerScope(partnerId), PROFILE_ID)
      .execute(context, (profile) => changeProfile(profile, wanted));
    return { profile: profileOf(state), position };
  }
}
