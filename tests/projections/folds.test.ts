import { expect } from 'chai';
import { catalogue } from '../../domain/catalogue.ts';
import { projections } from '../../projections/all.ts';
import { loginsProjection, usersProjection } from '../../projections/identity/users.ts';
import { conversationsProjection } from '../../projections/messaging/conversations.ts';
import { notificationsProjection } from '../../projections/notifications/notifications.ts';
import { tenantsProjection } from '../../projections/tenancy/tenants.ts';
import { folded, type PastEvent } from '../support/folded.ts';
import { BEGINNING } from '../support/given.ts';

const time = (seconds: number): string => new Date(BEGINNING + seconds * 1000).toISOString();

describe('Every projection', () => {
  for (const projection of projections) {
    it(`${projection.name} folds only types of the catalogue, into declared collections`, () => {
      const types = catalogue.map((definition) => definition.type);
      expect(types).to.include.members([...projection.types]);
      expect(projection.version).to.be.at.least(1);
      expect(new Set(projection.collections.map((each) => each.name)).size).to.equal(
        projection.collections.length,
      );
    });
  }

  it('has a unique name', () => {
    expect(new Set(projections.map((projection) => projection.name)).size).to.equal(projections.length);
  });

  it('skips other events', () => {
    for (const projection of projections) {
      expect(folded(projection, [{ type: 'SomethingElse', data: {} }]).size).to.equal(0);
    }
  });
});

describe('Users', () => {
  const registered: PastEvent = {
    type: 'UserRegistered',
    data: { user_id: 'ann', email: 'sealed e', display_name: 'sealed n', role: 'admin', origin: 'admin' },
  };
  const ann = {
    id: 'ann',
    email: 'sealed e',
    display_name: 'sealed n',
    role: 'admin',
    status: 'active',
    created_at: time(1),
  };

  it('are stored as registered, without a password', () => {
    const story = [registered, { type: 'UserPasswordSet', data: { user_id: 'ann', password_hash: '$' } }];
    expect([...folded(usersProjection, story).values()]).to.deep.equal([ann]);
  });

  it('follow their events', () => {
    const story = [
      registered,
      { type: 'UserRenamed', data: { user_id: 'ann', display_name: 'sealed 2' } },
      { type: 'UserRoleChanged', data: { user_id: 'ann', role: 'operator' } },
      { type: 'UserStatusChanged', data: { user_id: 'ann', status: 'deactivated' } },
    ];
    expect(folded(usersProjection, story).get('users/acme/ann')).to.deep.equal({
      ...ann,
      display_name: 'sealed 2',
      role: 'operator',
      status: 'deactivated',
    });
  });

  it('are not created by changes alone', () => {
    const changes = ['UserRenamed', 'UserRoleChanged', 'UserStatusChanged'];
    expect(
      folded(
        usersProjection,
        changes.map((type) => ({ type, data: { user_id: 'x' } })),
      ).size,
    ).to.equal(0);
  });
});

describe('Logins', () => {
  const claimed = (tenantId: string): PastEvent => ({
    type: 'EmailClaimed',
    data: { email_hash: 'h', user_id: 'ann' },
    tenantId,
  });
  it('are stored under the platform, one per tenant, while the address is claimed', () => {
    const story = [claimed('acme'), claimed('beta')];
    expect([...folded(loginsProjection, story).keys()]).to.deep.equal([
      'logins/platform/h.acme',
      'logins/platform/h.beta',
    ]);
    const released = { type: 'EmailReleased', data: { email_hash: 'h', user_id: 'ann' }, tenantId: 'acme' };
    expect([...folded(loginsProjection, [...story, released]).keys()]).to.deep.equal([
      'logins/platform/h.beta',
    ]);
  });
  it('are not created by reservations', () => {
    const reserved = { type: 'EmailReserved', data: { email_hash: 'h', user_id: 'ann' } };
    expect(folded(loginsProjection, [reserved]).size).to.equal(0);
  });
});

describe('Tenants', () => {
  const settings = {
    name: 'Acme',
    plan: 'pro',
    partner_id: 'p',
    entitlements: { ledger: false, assistant: false },
    currency: 'EUR',
    timezone: 'UTC',
  };
  const created: PastEvent = {
    type: 'TenantCreated',
    data: { tenant_id: 'acme', ...settings },
    tenantId: 'platform',
  };
  const left = (...changes: readonly Record<string, unknown>[]) =>
    folded(tenantsProjection, [
      created,
      ...changes.map((data) => ({
        type: 'TenantChanged',
        data: { tenant_id: 'acme', ...data },
        tenantId: 'platform',
      })),
    ]).get('tenants/platform/acme');

  it('are stored as created', () => {
    expect(left()).to.deep.equal({
      id: 'acme',
      ...settings,
      status: 'active',
      created_at: time(1),
      sso: null,
    });
  });
  it('show their single sign-on without its secret, until it is removed', () => {
    const sso = { issuer: 'https://login.example', client_id: 'us', return_origins: ['https://app.example'] };
    const configured: PastEvent = {
      type: 'TenantSsoConfigured',
      data: { tenant_id: 'acme', ...sso, client_secret: 'sealed' },
      tenantId: 'platform',
    };
    const removed: PastEvent = {
      type: 'TenantSsoRemoved',
      data: { tenant_id: 'acme' },
      tenantId: 'platform',
    };
    const shown = (...story: PastEvent[]) => folded(tenantsProjection, story).get('tenants/platform/acme');
    expect(shown(created, configured)).to.deep.include({ sso });
    expect(shown(created, configured, removed)).to.deep.include({ sso: null });
  });
  it('change in the members of an event, also to null', () => {
    expect(left({ name: 'New' })).to.include({ name: 'New', plan: 'pro', partner_id: 'p' });
    expect(left({ partner_id: null, entitlements: { ledger: true, assistant: false } })).to.deep.include({
      partner_id: null,
      entitlements: { ledger: true, assistant: false },
    });
  });
});

describe('Notifications', () => {
  const raised = (id: string): PastEvent => ({
    type: 'NotificationRaised',
    data: {
      notification_id: id,
      recipient_user_id: 'bob',
      kind: 'message_mention',
      actor_user_id: 'ann',
      subject_kind: 'conversation',
      subject_id: 'c1',
      note_id: 'm1',
      snippet: 'sealed',
      snippet_key: 'message-m1',
    },
  });
  const read = (...ids: string[]): PastEvent => ({
    type: 'NotificationsRead',
    data: { recipient_user_id: 'bob', notification_ids: ids },
  });

  it('are unread and counted until they are read', () => {
    const documents = folded(notificationsProjection, [
      raised('n1'),
      raised('n2'),
      raised('n3'),
      read('n1', 'n3'),
    ]);
    expect(documents.get('inboxes/acme/bob')).to.deep.equal({ unread: 1 });
    expect(documents.get('notifications/acme/n1')).to.include({ unread: false, read_at: time(4), seq: 0 });
    expect(documents.get('notifications/acme/n2')).to.include({ unread: true, read_at: null, seq: 1 });
  });
});

describe('Messages', () => {
  const started: PastEvent = {
    type: 'ConversationStarted',
    data: { conversation_id: 'c1', dm_key: 'k', participant_user_ids: ['ann', 'bob'] },
  };
  const message = { conversation_id: 'c1', message_id: 'm1' };
  const sent: PastEvent = {
    type: 'MessageSent',
    data: { ...message, sender_user_id: 'ann', body: 'sealed 1', mentioned_user_ids: [] },
  };
  const edited: PastEvent = { type: 'MessageEdited', data: { ...message, body: 'sealed 2' } };
  const deleted: PastEvent = {
    type: 'MessageDeleted',
    data: { ...message, sender_user_id: 'ann', sent_at: time(2) },
  };
  const left = (...story: PastEvent[]) =>
    folded(conversationsProjection, [started, ...story]).get('messages/acme/m1');

  it('are stored sealed, with the time of their edit', () => {
    expect(left(sent))
      .to.include({ body: 'sealed 1', seq: 1, created_at: time(2) })
      .and.not.to.have.any.keys('edited_at', 'deleted_at', 'text_key');
    expect(left(sent, edited)).to.include({ body: 'sealed 2', created_at: time(2), edited_at: time(3) });
  });
  it('stay without a body when they are deleted', () => {
    expect(left(sent, edited, deleted)).to.include({
      body: null,
      seq: 1,
      edited_at: time(3),
      deleted_at: time(4),
    });
    expect(left(sent, deleted, edited), 'whatever comes after').to.include({
      body: null,
      deleted_at: time(3),
    });
  });
  it('move their conversation to the top', () => {
    const documents = folded(conversationsProjection, [started, sent]);
    expect(documents.get('conversations/acme/c1')).to.include({
      last_message_at: time(2),
      active_at: time(2),
      created_at: time(1),
    });
  });
});
