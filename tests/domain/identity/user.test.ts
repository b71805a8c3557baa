import { platformAdminStream, registerPlatformAdmin } from '../../../domain/identity/platform-admin.ts';
import {
  type ChangeUser,
  changeUser,
  forgetUser,
  type RegisterUser,
  registerUser,
  type UserEvent,
  userStream,
} from '../../../domain/identity/user.ts';
import { given } from '../../support/given.ts';

const command: RegisterUser = {
  userId: 'ann',
  email: 'ann@example.com',
  displayName: 'Ann',
  role: 'admin',
  origin: 'admin',
};
const registered: UserEvent = {
  type: 'UserRegistered',
  data: { user_id: 'ann', email: 'ann@example.com', display_name: 'Ann', role: 'admin', origin: 'admin' },
};
const passwordSet: UserEvent = {
  type: 'UserPasswordSet',
  data: { user_id: 'ann', password_hash: '$argon2id$' },
};
const change = (values: Partial<ChangeUser>): ChangeUser => ({ presentName: 'Ann', ...values });

describe('a user', () => {
  it('is registered, with a password or without', () => {
    given(userStream)
      .when((state) => registerUser(state, command))
      .gives(registered);
    given(userStream)
      .when((state) => registerUser(state, { ...command, passwordHash: '$argon2id$' }))
      .gives(registered, passwordSet);
  });

  it('is registered once: doing it again gives nothing', () => {
    given(userStream)
      .when((state) => registerUser(state, { ...command, passwordHash: '$argon2id$' }))
      .thenAgainNothing();
    given(userStream, registered)
      .when((state) => registerUser(state, { ...command, role: 'operator', email: 'other@example.com' }))
      .givesNothing();
  });

  it('is changed in what differs, one fact for each', () => {
    const all = change({
      displayName: 'Anna',
      role: 'operator',
      status: 'deactivated',
      passwordHash: '$new$',
      withdrawn: 0,
    });
    given(userStream, registered)
      .when((state) => changeUser(state, all, 'root'))
      .gives(
        { type: 'UserRenamed', data: { user_id: 'ann', display_name: 'Anna' } },
        { type: 'UserRoleChanged', data: { user_id: 'ann', role: 'operator' } },
        { type: 'UserStatusChanged', data: { user_id: 'ann', status: 'deactivated' } },
        { type: 'UserPasswordSet', data: { user_id: 'ann', password_hash: '$new$' } },
      );
  });

  it('is not changed by what is so already', () => {
    const same = change({ displayName: 'Ann', role: 'admin', status: 'active' });
    given(userStream, registered)
      .when((state) => changeUser(state, same, 'root'))
      .givesNothing();
    const ended = change({ role: 'operator', status: 'deactivated', withdrawn: 0 });
    given(userStream, registered)
      .when((state) => changeUser(state, ended, 'root'))
      .thenAgainNothing();
  });

  it('who is unknown cannot be changed', () => {
    given(userStream)
      .when((state) => changeUser(state, change({ role: 'admin' }), 'root'))
      .isRefused('not_found');
  });

  it('who is an admin cannot lock themselves out', () => {
    const story = given(userStream, registered);
    for (const values of [{ status: 'deactivated' }, { role: 'operator' }] as const) {
      story.when((state) => changeUser(state, change(values), 'ann')).isRefused('conflict');
    }
    story
      .when((state) => changeUser(state, change({ displayName: 'Anna', role: 'admin' }), 'ann'))
      .gives({ type: 'UserRenamed', data: { user_id: 'ann', display_name: 'Anna' } });
  });

  it('who was deactivated can be let in again', () => {
    given(userStream, registered, {
      type: 'UserStatusChanged',
      data: { user_id: 'ann', status: 'deactivated' },
    })
      .when((state) => changeUser(state, change({ status: 'active' }), 'root'))
      .gives({ type: 'UserStatusChanged', data: { user_id: 'ann', status: 'active' } });
  });
});

describe('a person who is forgotten', () => {
  const forgotten: UserEvent = { type: 'UserForgotten', data: { user_id: 'ann', email_hash: 'h' } };
  const by = (id: string, emailHash: string | undefined = 'h') => ({ by: id, emailHash, withdrawn: 0 });

  it('is so by one fact, which names the address that becomes free', () => {
    const story = given(userStream, registered, passwordSet).when((state) => forgetUser(state, by('root')));
    story.gives(forgotten);
    story.thenAgainNothing();
    given(userStream, registered)
      .when((state) => forgetUser(state, { by: 'root', emailHash: undefined, withdrawn: 0 }))
      .gives({ type: 'UserForgotten', data: { user_id: 'ann' } });
  });

  it('is somebody, and not oneself', () => {
    given(userStream)
      .when((state) => forgetUser(state, by('ann')))
      .isRefused('not_found');
    for (const story of [given(userStream, registered), given(userStream, registered, forgotten)]) {
      story.when((state) => forgetUser(state, by('ann'))).isRefused('conflict');
    }
  });

  it('cannot be changed, let in again or registered again', () => {
    const story = given(userStream, registered, passwordSet, forgotten);
    for (const values of [{}, { status: 'active' }, { displayName: 'Ann' }, { passwordHash: 'x' }] as const) {
      story.when((state) => changeUser(state, change(values), 'root')).isRefused('invalid_transition');
    }
    story.when((state) => registerUser(state, command)).givesNothing();
  });
});

describe('a platform admin', () => {
  const admin = { admin_id: 'root', email: 'root@example.com', password_hash: '$argon2id$' };
  it('is registered once', () => {
    const story = given(platformAdminStream).when((state) => registerPlatformAdmin(state, admin));
    story.gives({
      type: 'PlatformAdminRegistered',
      data: admin,
    });
    story.thenAgainNothing();
  });
});
