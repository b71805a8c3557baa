import { expect } from 'chai';
import fc from 'fast-check';
import { DomainError } from '../../../domain/core/errors.ts';
import {
  claimEmail,
  type EmailEvent,
  emailStream,
  RESERVATION_MS,
  releaseEmail,
  reserveEmail,
} from '../../../domain/identity/email.ts';
import { BEGINNING, given } from '../../support/given.ts';

const of = (userId: string) => ({ email_hash: 'hash', user_id: userId });
const fact = (type: EmailEvent['type'], user_id: string, at = BEGINNING) => ({
  type,
  data: { email_hash: 'hash', user_id },
  at,
});
const reserved = fact('EmailReserved', 'ann');
const claimed = fact('EmailClaimed', 'ann');
const taken = { field: 'email' };

describe('An e-mail address', () => {
  it('is reserved, then claimed, each once', () => {
    given(emailStream)
      .when((state, context) => reserveEmail(state, of('ann'), context))
      .thenAgainNothing();
    const claim = given(emailStream, reserved).when((state) => claimEmail(state, of('ann')));
    claim.gives({ type: 'EmailClaimed', data: { email_hash: 'hash', user_id: 'ann' } });
    claim.thenAgainNothing();
    given(emailStream, claimed)
      .when((state, context) => reserveEmail(state, of('ann'), context))
      .givesNothing();
  });

  it('stays reserved for a minute', () => {
    const other = given(emailStream, reserved);
    const reserve = (state: typeof other.state, context: { now: number }) =>
      reserveEmail(state, of('bob'), context);
    other.when(reserve, BEGINNING + RESERVATION_MS - 1).isRefused('already_exists', taken);
    other
      .when(reserve, BEGINNING + RESERVATION_MS)
      .gives({ type: 'EmailReserved', data: { email_hash: 'hash', user_id: 'bob' } });
  });

  it('stays claimed for good', () => {
    given(emailStream, claimed)
      .when((state, context) => reserveEmail(state, of('bob'), context), BEGINNING * 2)
      .isRefused('already_exists', taken);
    given(emailStream, claimed)
      .when((state) => claimEmail(state, of('bob')))
      .isRefused('already_exists', taken);
  });

  it('cannot be claimed by an expired reservation once another user has it', () => {
    given(emailStream, reserved, fact('EmailReserved', 'bob', BEGINNING + RESERVATION_MS))
      .when((state) => claimEmail(state, of('ann')))
      .isRefused('already_exists', taken);
  });

  it('is released only by its holder', () => {
    for (const held of [reserved, claimed]) {
      const release = given(emailStream, held).when((state) => releaseEmail(state, of('ann')));
      release.gives({ type: 'EmailReleased', data: { email_hash: 'hash', user_id: 'ann' } });
      release.thenAgainNothing();
      given(emailStream, held)
        .when((state) => releaseEmail(state, of('bob')))
        .givesNothing();
    }
    given(emailStream)
      .when((state) => releaseEmail(state, of('ann')))
      .givesNothing();
  });

  it('is never claimed by two people, for any sequence of commands', () => {
    const steps = fc.array(
      fc.record({
        who: fc.constantFrom('ann', 'bob', 'eve'),
        what: fc.constantFrom('reserve', 'claim', 'release'),
        after: fc.nat(RESERVATION_MS),
      }),
    );
    fc.assert(
      fc.property(steps, (story) => {
        let state = emailStream.initial;
        let now = BEGINNING;
        let holder: string | undefined;
        for (const { who, what, after } of story) {
          now += after;
          try {
            const events =
              what === 'reserve'
                ? reserveEmail(state, of(who), { now })
                : what === 'claim'
                  ? claimEmail(state, of(who))
                  : releaseEmail(state, of(who));
            for (const event of events) {
              if (event.type === 'EmailReleased') {
                if (holder !== undefined) expect(event.data.user_id).to.equal(holder);
                holder = undefined;
              } else if (holder !== undefined) expect(event.data.user_id).to.equal(holder);
              if (event.type === 'EmailClaimed') holder = event.data.user_id;
              state = emailStream.evolve(state, event, { at: now, revision: 0 });
            }
          } catch (error) {
            expect(error).to.be.instanceOf(DomainError);
          }
        }
      }),
    );
  });
});
