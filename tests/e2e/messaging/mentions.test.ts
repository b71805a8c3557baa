import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { inbox, inboxOf, settled } from '../../support/inbox.ts';
import { unreadCount } from '../../support/shapes.ts';
import { bossAndAda, forSuite } from '../../support/suite.ts';
import { BASE, type Member, NOTIFICATIONS, say, talk, token, USERS } from '../../support/world.ts';

describe('Mentions', () => {
  const here = forSuite(bossAndAda);

  it('notify each active user once per message, with the fields of the specification', async () => {
    const { tenant, ada } = here();
    const [ben, cy] = [await tenant.person('Ben'), await tenant.person('Cy')];
    const id = await talk(ada, ben, cy);
    const sent = await say(ada, id, `${token(ben)} and ${token(cy)}, ${token(ben)} again`);
    for (const who of [ben, cy]) {
      const [found] = await inboxOf(who, 1);
      expect(found).to.deep.include({
        kind: 'message_mention',
        subject_kind: 'conversation',
        subject_id: id,
        note_id: sent.id,
        actor_email: ada.email,
        snippet: '@Ben and @Cy, @Ben again',
        read_at: null,
      });
    }
    await settled(ada, id, cy);
    expect(await inbox(ben)).to.have.length(1);
    expect(await inbox(cy)).to.have.length(2);
  });

  it('do not notify the sender, unknown, deactivated or foreign people', async () => {
    const { world, tenant, ada } = here();
    const fence = await tenant.person('Fence');
    const gone = await tenant.person('Gone');
    await tenant.admin.api.patch(`${USERS}/${gone.id}`, { status: 'deactivated' });
    const stranger = await (await world.tenant()).person('Stranger');
    const id = await talk(ada, fence);
    const before = (await inbox(ada)).length;
    const texts = [
      ada,
      gone,
      stranger,
      { name: 'Nobody', id: randomUUID() },
      { name: 'Odd', id: 'a.b:c@d|e' },
    ];
    for (const who of texts) {
      const sent = await say(ada, id, `see ${token(who)}`);
      expect(sent.body).to.equal(`see ${token(who)}`);
    }
    await settled(ada, id, fence);
    expect(await inbox(ada)).to.have.length(before);
    expect(await inbox(stranger)).to.have.length(0);
    await tenant.admin.api.patch(`${USERS}/${gone.id}`, { status: 'active' });
    expect(await inbox(gone)).to.have.length(0);
  });

  it('reveal nothing of the message to people outside the conversation', async () => {
    const { tenant, ada } = here();
    const [ben, out] = [await tenant.person('Ben'), await tenant.person('Out')];
    const id = await talk(ada, ben);
    const sent = await say(ada, id, `a secret about ${token(out)}`);
    const [found] = await inboxOf(out, 1);
    expect(found).to.deep.include({ snippet: '', note_id: sent.id, subject_id: id, actor_email: ada.email });
  });

  it('notify fifty people once each', async () => {
    const { tenant, ada } = here();
    const people: Member[] = [];
    for (let i = 0; i < 49; i += 1) people.push(await tenant.person(`P${i}`));
    const id = await talk(ada, ...people);
    await say(ada, id, people.map(token).join(' '));
    for (const who of people) expect(await inboxOf(who, 1)).to.have.length(1);
  });

  it('are not repeated by an edit', async () => {
    const { tenant, ada } = here();
    const [ben, cy, fence] = [
      await tenant.person('Ben'),
      await tenant.person('Cy'),
      await tenant.person('F'),
    ];
    const id = await talk(ada, ben, cy, fence);
    const sent = await say(ada, id, `for ${token(ben)}`);
    await inboxOf(ben, 1);
    await ada.api.patch(`${BASE}/${id}/messages/${sent.id}`, { body: `for ${token(ben)} ${token(cy)}` });
    await settled(ada, id, fence);
    expect(await inbox(ben)).to.have.length(1);
    expect(await inbox(cy)).to.have.length(0);
  });

  it('lose only their snippet when the message is deleted', async () => {
    const { tenant, ada } = here();
    const ben = await tenant.person('Ben');
    const id = await talk(ada, ben);
    const sent = await say(ada, id, `a secret for ${token(ben)}`);
    const [before] = await inboxOf(ben, 1);
    await ada.api.delete(`${BASE}/${id}/messages/${sent.id}`);
    const [found] = await inbox(ben);
    expect(found).to.deep.equal({ ...before, snippet: '' });
    const count = (await ben.api.get(`${NOTIFICATIONS}/unread-count`)).as(unreadCount);
    expect(count.unread).to.equal(1);
  });
});
