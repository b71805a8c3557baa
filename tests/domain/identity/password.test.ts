import { expect } from 'chai';
import {
  checkReset,
  offerReset,
  RESET_MS,
  type RegisteredUser,
  replacePassword,
  type User,
  type UserEvent,
  userStream,
} from '../../../domain/identity/user.ts';

const AT = Date.parse('2026-11-23T10:00:00.500Z');

/** The state after events of one instant each, a second apart. */
const stateAfter = (...events: readonly UserEvent[]): User =>
  events.reduce<User>(
    (state, event, revision) => userStream.evolve(state, event, { at: AT + revision * 1000, revision }),
    userStream.initial,
  );

const REGISTERED: UserEvent = {
  type: 'UserRegistered',
  data: { user_id: 'ann', email: 'e', display_name: 'n', role: 'operator', origin: 'admin' },
};
const ann = (...events: readonly UserEvent[]): RegisteredUser => {
  const state = stateAfter(REGISTERED, ...events);
  if (!state.exists) throw new Error('nobody');
  return state;
};
const matchesSecret = (wanted: string) => (stored: string) => stored === wanted;
const refused = (state: User, secret: string, now = AT): void => {
  expect(() => checkReset(state, matchesSecret(secret), now)).to.throw('no longer valid');
};

describe('A reset of a password', () => {
  const offered = offerReset(ann(), 'first', AT);

  it('is valid until the instant of its expiry, exclusive', () => {
    const state = ann(...offered);
    expect(checkReset(state, matchesSecret('first'), AT + RESET_MS - 1).id).to.equal('ann');
    refused(state, 'first', AT + RESET_MS);
    refused(state, 'other');
  });

  it('is replaced by a later reset, and used once', () => {
    const twice = ann(...offered, ...offerReset(ann(...offered), 'second', AT));
    refused(twice, 'first');
    expect(checkReset(twice, matchesSecret('second'), AT).id).to.equal('ann');
    refused(ann(...offered, ...replacePassword(ann(...offered), 'hash')), 'first');
  });

  it('ends with any password that is set, and with the account', () => {
    refused(
      ann(...offered, { type: 'UserPasswordSet', data: { user_id: 'ann', password_hash: 'h' } }),
      'first',
    );
    const ended: readonly UserEvent[] = [
      { type: 'UserStatusChanged', data: { user_id: 'ann', status: 'deactivated' } },
      { type: 'UserForgotten', data: { user_id: 'ann' } },
    ];
    for (const event of ended) {
      refused(ann(...offered, event), 'first');
      expect(() => offerReset(ann(event), 'x', AT)).to.throw('not active');
    }
    refused(stateAfter(), 'first');
    expect(() => offerReset(stateAfter(), 'x', AT)).to.throw('No such resource');
  });

  it('ends the sessions up to the second of the reset; a password set by an admin ends no session', () => {
    expect(ann(...replacePassword(ann(), 'hash')).sessionsSince).to.equal(Math.floor(AT / 1000) + 1);
    const given: UserEvent = { type: 'UserPasswordSet', data: { user_id: 'ann', password_hash: 'h' } };
    expect(ann(given).sessionsSince).to.equal(undefined);
    expect(ann(...replacePassword(ann(), 'x'), given).sessionsSince).to.equal(Math.floor(AT / 1000) + 1);
  });
});
