import { hash } from 'node:crypto';
import { z } from 'zod';
import { DomainError, invalidCredential } from '../../domain/core/errors.ts';
import { isStorableText } from '../../domain/core/text.ts';
import { assertionStream, exchangeAssertion } from '../../domain/partners/assertion.ts';
import { partnerScope } from '../../domain/partners/partner.ts';
import type { Written } from '../core/commands/command.ts';
import type { PartnerPrincipal } from '../core/commands/principal.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import { USER_ID } from '../identity/authentication-claims.ts';
import type { Clock } from '../ports/clock.ts';
import type { TokenFamily } from '../ports/tokens.ts';
import type { PartnerDirectory } from './partner-directory.ts';

const personal = z.string().min(1).max(320).refine(isStorableText);

/** Claims of partner tokens (decisions, section 3). */
export const partnerClaims = z.object({
  sub: z.string().regex(USER_ID),
  email: personal,
  /** The form of the id is not checked: a text that cannot be a partner id counts as an unknown partner. */
  partner_id: z.string(),
  permissions: z.array(z.string().max(100).refine(isStorableText)).max(100),
});
type PartnerClaims = z.output<typeof partnerClaims>;

/** Claims of the hosting portal's assertions, which are exchanged for partner tokens. */
export const assertionClaims = partnerClaims.extend({
  jti: z.string().min(1).max(255).refine(isStorableText),
});
type AssertionClaims = z.output<typeof assertionClaims>;

export const PARTNER_TOKEN_SECONDS = 3600;
export const ASSERTION_SECONDS = 300;

export class PartnerAuthentication extends WithDeps<{
  readonly tokens: TokenFamily<PartnerClaims>;
  readonly assertions: TokenFamily<AssertionClaims>;
  readonly partners: PartnerDirectory;
  readonly streams: Streams;
  readonly clock: Clock;
}> {
  /**
   * Reads the store only if the partner is not cached, which is rare.
   * @throws `invalid_credential`, `credential_expired`, `partner_permission_missing` for an unknown partner
   */
  async authenticate(token: string): Promise<PartnerPrincipal> {
    const claims = this.deps.tokens.verify(token);
    if ((await this.deps.partners.find(claims.partner_id)) === undefined) {
      throw new DomainError('partner_permission_missing', 'There is no such partner.');
    }
    return {
      kind: 'partner',
      partnerId: claims.partner_id,
      userId: claims.sub,
      email: claims.email,
      permissions: claims.permissions,
    };
  }

  /**
   * Exchanges an assertion for a token, once. Before the token is made, the use of the assertion is appended to a
   * stream that must be new, so that any node refuses a second use.
   * @throws `invalid_credential` for any fault of the assertion
   */
  async exchange(assertion: string, requestId: string): Promise<Written<{ token: string }>> {
    const { partner_id, sub, email, permissions, jti } = this.#verified(assertion);
    if ((await this.deps.partners.find(partner_id)) === undefined) throw invalidCredential();
    const assertion_id = hash('sha256', `${partner_id}\n${jti}`, 'hex');
    const actor = { kind: 'partner', id: sub } as const;
    const cause = { actor, correlationId: requestId, causationId: requestId };
    const { position } = await this.deps.streams
      .of(assertionStream, partnerScope(partner_id), assertion_id)
      .execute({ cause }, (state) =>
        exchangeAssertion(state, { partner_id, assertion_id, user_id: sub, permissions }),
      );
    const token = this.deps.tokens.sign({ sub, email, partner_id, permissions }, PARTNER_TOKEN_SECONDS);
    return { token, position };
  }

  #verified(assertion: string): AssertionClaims {
    let claims: AssertionClaims & { readonly iat: number };
    try {
      claims = this.deps.assertions.verify(assertion);
    } catch (error) {
      // Does not reveal whether the assertion is expired or forged.
      throw error instanceof DomainError ? invalidCredential() : error;
    }
    if (Math.floor(this.deps.clock.now() / 1000) - claims.iat > ASSERTION_SECONDS) throw invalidCredential();
    return claims;
  }
}
