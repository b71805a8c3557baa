import { expect } from 'chai';
import { ownerKeyId, textKeyOf } from '../../../../application/core/privacy/key-ids.ts';
import { MessageSent } from '../../../../domain/messaging/conversation.ts';
import { TenantCreated } from '../../../../domain/tenancy/tenant.ts';

describe('Ids of data keys', () => {
  const body = MessageSent.personal.body ?? { kind: 'message', id: '' };

  it('consist of the owner’s kind and id', () => {
    const email = TenantCreated.personal.admin_email ?? body;
    expect(ownerKeyId('platform', email, { tenant_id: 'acme' })).to.equal('platform/first-admin-acme');
  });

  it('are taken from the event when it names one', () => {
    const named = { message_id: 'm', text_key: 'message-page~7' };
    expect(ownerKeyId('acme', body, named)).to.equal('acme/message-page~7');
    expect(textKeyOf(named)).to.equal('message-page~7');
  });

  it('derive from the message’s id in events older than key pages', () => {
    expect(ownerKeyId('acme', body, { message_id: 'm' })).to.equal('acme/message-m');
    expect(textKeyOf({ message_id: 'm' })).to.equal('message-m');
  });
});
