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

describe('A user', () => {
  it('is registered, with a password or without', () => {
    given(userStream)
      .when((state) => registerUser(state, command))
      .gives(registered);
    given(userStream)
      .when((state) => registerUser(state, { ...command, passwordHash: '$argon2id$' }))
      .gives(registered, passwordSet);
  });

  it('is registered once', () => {
    given(userStream)
      .when((state) => registerUser(state, { ...command, passwordHash: '$argon2id$' }))
      .thenAgainNothing();
    given(userStream, registered)
      .when((state) => registerUser(state, { ...command, role: 'operator', email: 'other@example.com' }))
      .givesNothing();
  });

  it('changes by one event per difference', () => {
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

  it('appends nothing for equal values', () => {
    const same = change({ displayName: 'Ann', role: 'admin', status: 'active' });
    given(userStream, registered)
      .when((state) => changeUser(state, same, 'root'))
      .givesNothing();
    const ended = change({ role: 'operator', status: 'deactivated', withdrawn: 0 });
    given(userStream, registered)
      .when((state) => changeUser(state, ended, 'root'))
      .thenAgainNothing();
  });

  it('must exist to be changed', () => {
    given(userStream)
      .when((state) => changeUser(state, change({ role: 'admin' }), 'root'))
      .isRefused('not_found');
  });

  it('cannot lose admin rights by their own change', () => {
    const story = given(userStream, registered);
    for (const values of [{ status: 'deactivated' }, { role: 'operator' }] as const) {
      story.when((state) => changeUser(state, change(values), 'ann')).isRefused('conflict');
    }
    story
      .when((state) => changeUser(state, change({ displayName: 'Anna', role: 'admin' }), 'ann'))
      .gives({ type: 'UserRenamed', data: { user_id: 'ann', display_name: 'Anna' } });
  });

  it('can be reactivated', () => {
    given(userStream, registered, {
      type: 'UserStatusChanged',
      data: { user_id: 'ann', status: 'deactivated' },
    })
      .when((state) => changeUser(state, change({ status: 'active' }), 'root'))
      .gives({ type: 'UserStatusChanged', data: { user_id: 'ann', status: 'active' } });
  });
});

describe('A forgotten person', () => {
  const forgotten: UserEvent = { type: 'UserForgotten', data: { user_id: 'ann', email_hash: 'h' } };
  const by = (id: string, emailHash: string | undefined = 'h') => ({ by: id, emailHash, withdrawn: 0 });

  it('is forgotten by one event, which names the address to release', () => {
    const story = given(userStream, registered, passwordSet).when((state) => forgetUser(state, by('root')));
    story.gives(forgotten);
    story.thenAgainNothing();
    given(userStream, registered)
      .when((state) => forgetUser(state, { by: 'root', emailHash: undefined, withdrawn: 0 }))
      .gives({ type: 'UserForgotten', data: { user_id: 'ann' } });
  });

  it('must exist and not be the caller', () => {
    given(userStream)
      .when((state) => forgetUser(state, by('ann')))
      .isRefused('not_found');
    for (const story of [given(userStream, registered), given(userStream, registered, forgotten)]) {
      story.when((state) => forgetUser(state, by('ann'))).isRefused('conflict');
    }
  });

  it('cannot be changed, reactivated or registered again', () => {
    const story = given(userStream, registered, passwordSet, forgotten);
    for (const values of [{}, { status: 'active' }, { displayName: 'Ann' }, { passwordHash: 'x' }] as const) {
      story.when((state) => changeUser(state, change(values), 'root')).isRefused('invalid_transition');
    }
    story.when((state) => registerUser(state, command)).givesNothing();
  });
});

describe('A platform admin', () => {
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
