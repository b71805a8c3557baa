import { linkIdentity, ssoIdentityStream } from '../../../domain/identity/sso-identity.ts';
import { given } from '../../support/given.ts';

const linked = (user_id: string) => ({
  type: 'SsoIdentityLinked' as const,
  data: { identity_hash: 'h', user_id },
});

describe('An identity of a provider', () => {
  it('is linked to one user', () => {
    given(ssoIdentityStream)
      .when((state) => linkIdentity(state, { identityHash: 'h', userId: 'ann' }))
      .gives(linked('ann'));
  });

  it('is linked to one other user after its user was forgotten', () => {
    const anew = { identityHash: 'h', userId: 'next', insteadOf: 'ann' };
    const story = given(ssoIdentityStream, linked('ann')).when((state) => linkIdentity(state, anew));
    story.gives(linked('next'));
    story.thenAgainNothing();
    given(ssoIdentityStream, linked('ann'), linked('bob'))
      .when((state) => linkIdentity(state, anew))
      .givesNothing();
  });

  it('stays with its first user', () => {
    for (const userId of ['ann', 'bob']) {
      given(ssoIdentityStream, linked('ann'))
        .when((state) => linkIdentity(state, { identityHash: 'h', userId }))
        .givesNothing();
    }
  });
});
