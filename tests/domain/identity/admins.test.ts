import { expect } from 'chai';
import {
  type AdminChange,
  type AdminsEvent,
  adminsStream,
  finishWithdrawal,
  withdrawAdmin,
  withdrawnSince,
} from '../../../domain/identity/admins.ts';
import {
  changeUser,
  forgetUser,
  type RegisteredUser,
  type UserEvent,
  userStream,
} from '../../../domain/identity/user.ts';
import { given } from '../../support/given.ts';

const registered = (user_id: string): UserEvent => ({
  type: 'UserRegistered',
  data: { user_id, email: `${user_id}@example.com`, display_name: user_id, role: 'admin', origin: 'admin' },
});
const role = (user_id: string, given: 'admin' | 'operator'): UserEvent => ({
  type: 'UserRoleChanged',
  data: { user_id, role: given },
});
const status = (user_id: string, given: 'active' | 'deactivated'): UserEvent => ({
  type: 'UserStatusChanged',
  data: { user_id, status: given },
});
const renamed = (user_id: string): UserEvent => ({
  type: 'UserRenamed',
  data: { user_id, display_name: 'Other' },
});
const forgotten = (user_id: string): UserEvent => ({ type: 'UserForgotten', data: { user_id } });

const personOf = (...events: readonly UserEvent[]): RegisteredUser => {
  const { state } = given(userStream, ...events);
  if (!state.exists) throw new Error('nobody was registered');
  return state;
};
const ann = personOf(registered('ann'));
const ben = personOf(registered('ben'));

const withdrawn = (user_id: string, admin_since = 0, changes: AdminChange[] = ['demoted']): AdminsEvent => ({
  type: 'AdminWithdrawn',
  data: { user_id, admin_since, changes },
});

describe('An active admin', () => {
  it('is identified by the revision of the promotion', () => {
    for (const [events, since] of [
      [[], 0],
      [[renamed('ann')], 0],
      [[role('ann', 'operator')], undefined],
      [[status('ann', 'deactivated')], undefined],
      [[status('ann', 'deactivated'), renamed('ann'), status('ann', 'active')], 3],
      [[role('ann', 'operator'), role('ann', 'admin'), renamed('ann')], 2],
      [[status('ann', 'deactivated'), role('ann', 'operator'), status('ann', 'active')], undefined],
      [[forgotten('ann')], undefined],
    ] as const) {
      expect(personOf(registered('ann'), ...events).adminSince).to.equal(since);
    }
  });

  for (const [what, decide] of [
    [
      'demoted',
      (since?: number) => changeUser(ann, { role: 'operator', presentName: '', withdrawn: since }, 'ben'),
    ],
    [
      'deactivated',
      (since?: number) =>
        changeUser(ann, { status: 'deactivated', presentName: '', withdrawn: since }, 'ben'),
    ],
    ['forgotten', (since?: number) => forgetUser(ann, { by: 'ben', emailHash: 'h', withdrawn: since })],
  ] as const) {
    it(`is ${what} only when the rights of the last promotion are withdrawn`, () => {
      const story = given(userStream, registered('ann'));
      story.when(() => decide()).isRefused('conflict');
      story.when(() => decide(7)).isRefused('conflict');
      expect(decide(0)).to.have.length(1);
    });
  }
});

describe('The rights of an admin', () => {
  const demote = (user: RegisteredUser | undefined, by: RegisteredUser | undefined) => ({
    user,
    by,
    changes: ['demoted'] as const,
  });

  it('are withdrawn by an admin, once', () => {
    const story = given(adminsStream).when((state) => withdrawAdmin(state, demote(ben, ann)));
    story.gives(withdrawn('ben'));
    story.thenAgainNothing();
  });

  it('are not withdrawn by a person whose own rights are withdrawn', () => {
    given(adminsStream, withdrawn('ann'))
      .when((state) => withdrawAdmin(state, demote(ben, ann)))
      .isRefused('conflict');
  });

  it('are not withdrawn by a person who is not an active admin', () => {
    for (const by of [
      undefined,
      personOf(registered('ann'), role('ann', 'operator')),
      personOf(registered('ann'), status('ann', 'deactivated')),
      personOf(registered('ann'), forgotten('ann')),
    ]) {
      given(adminsStream)
        .when((state) => withdrawAdmin(state, demote(ben, by)))
        .isRefused('conflict');
    }
  });

  it('apply again after another promotion', () => {
    const again = personOf(registered('ann'), role('ann', 'operator'), role('ann', 'admin'));
    given(adminsStream, withdrawn('ann'))
      .when((state) => withdrawAdmin(state, demote(ben, again)))
      .gives(withdrawn('ben'));
    given(adminsStream, withdrawn('ann'))
      .when((state) => withdrawAdmin(state, demote(again, ben)))
      .gives(withdrawn('ann', 2));
  });

  it('are not withdrawn from a person who has none, nor by the admin’s own change (refused elsewhere)', () => {
    for (const [user, by] of [
      [undefined, ann],
      [personOf(registered('ben'), role('ben', 'operator')), ann],
      [personOf(registered('ben'), status('ben', 'deactivated')), ann],
      [ann, ann],
    ] as const) {
      given(adminsStream)
        .when((state) => withdrawAdmin(state, demote(user, by)))
        .givesNothing();
    }
  });

  it('keep their last withdrawal', () => {
    const { state } = given(adminsStream, withdrawn('ann'), withdrawn('ben'), withdrawn('ann', 4));
    expect(['ann', 'ben', 'cy'].map((id) => withdrawnSince(state, id))).to.deep.equal([4, 0, undefined]);
  });
});

describe('A withdrawal', () => {
  const finish = (changes: readonly AdminChange[], adminSince = 0) => ({
    adminSince,
    changes,
    emailHash: 'h',
  });

  it('is finished once by each of its changes', () => {
    for (const [changes, events] of [
      [['demoted'], [role('ben', 'operator')]],
      [['deactivated'], [status('ben', 'deactivated')]],
      [
        ['demoted', 'deactivated'],
        [role('ben', 'operator'), status('ben', 'deactivated')],
      ],
      [['forgotten'], [{ type: 'UserForgotten', data: { user_id: 'ben', email_hash: 'h' } }]],
    ] as const) {
      const story = given(userStream, registered('ben')).when((state) =>
        finishWithdrawal(state, finish(changes), 'ann'),
      );
      story.gives(...events);
      story.thenAgainNothing();
    }
  });

  it('does not apply to a person promoted since', () => {
    given(userStream, registered('ben'), role('ben', 'operator'), role('ben', 'admin'))
      .when((state) => finishWithdrawal(state, finish(['forgotten']), 'ann'))
      .givesNothing();
    given(userStream)
      .when((state) => finishWithdrawal(state, finish(['demoted']), 'ann'))
      .givesNothing();
  });
});
