import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { messages, notifications, unreadCount } from '../../support/shapes.ts';
import {
  BASE,
  type Member,
  NOTIFICATIONS,
  say,
  startWorld,
  type TestTenant,
  talk,
  token,
  USERS,
  type World,
} from '../../support/world.ts';

describe('Mentions', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
  });
  after(() => world.end());

  const inbox = async (who: Member) => (await who.api.get(`${NOTIFICATIONS}?limit=200`)).as(notifications);

  const inboxOf = (who: Member, size: number) =>
    eventually(`${size} notifications for ${who.name}`, async () => {
      const found = await inbox(who);
      return found.length >= size ? found : undefined;
    });

  /** Somebody is mentioned last: once that one is notified, all before have been, or will never be. */
  const settled = async (sender: Member, conversationId: string, fence: Member): Promise<void> => {
    const before = (await inbox(fence)).length;
    await say(sender, conversationId, token(fence));
    await inboxOf(fence, before + 1);
  };

  it('notify each active user once per message, with the fields of the specification', async () => {
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

  it('leave the sender, the unknown, the deactivated and other tenants alone', async () => {
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

  it('tell somebody outside the conversation nothing of what was said', async () => {
    const [ben, out] = [await tenant.person('Ben'), await tenant.person('Out')];
    const id = await talk(ada, ben);
    const sent = await say(ada, id, `a secret about ${token(out)}`);
    const [found] = await inboxOf(out, 1);
    expect(found).to.deep.include({ snippet: '', note_id: sent.id, subject_id: id, actor_email: ada.email });
  });

  for (const [what, text] of [
    ['a name of 129 characters', (id: string) => `@[${'x'.repeat(129)}](user:${id})`],
    ['an empty name', (id: string) => `@[](user:${id})`],
    ['a bracket in the name', (id: string) => `@[a[b](user:${id})`],
    ['a line break in the name', (id: string) => `@[a\nb](user:${id})`],
    ['no at sign', (id: string) => `[Ben](user:${id})`],
    ['another kind', (id: string) => `@[Ben](users:${id})`],
    ['a space before the id', (id: string) => `@[Ben](user: ${id})`],
    ['no end', (id: string) => `@[Ben](user:${id}`],
    ['the id in capitals', (id: string) => `@[Ben](user:${id.toUpperCase()})`],
  ] as const) {
    it(`are not made by a token with ${what}`, async () => {
      const [ben, fence] = [await tenant.person('Ben'), await tenant.person('Fence')];
      const id = await talk(ada, ben, fence);
      const body = text(ben.id);
      expect((await say(ada, id, body)).body).to.equal(body);
      await settled(ada, id, fence);
      expect(await inbox(ben)).to.have.length(0);
    });
  }

  it('are made whatever name the token claims, and show the name the person has', async () => {
    const ben = await tenant.person('Ben');
    const id = await talk(ada, ben);
    const sent = await say(ada, id, `hi @[The Boss ${'x'.repeat(100)}](user:${ben.id})!`);
    expect(sent.body).to.equal(`hi ${token(ben)}!`);
    expect((await inboxOf(ben, 1))[0]?.snippet).to.equal('hi @Ben!');
    const renamed = { name: 'Benjamin', id: ben.id };
    await tenant.admin.api.patch(`${USERS}/${ben.id}`, { display_name: renamed.name });
    const [read] = (await ben.api.get(`${BASE}/${id}/messages`)).as(messages);
    expect(read).to.have.property('body', `hi ${token(renamed)}!`);
    expect((await inbox(ben))[0]?.snippet).to.equal('hi @Benjamin!');
  });

  it('may name somebody with 128 emoji', async () => {
    const ben = await tenant.person('Ben');
    const id = await talk(ada, ben);
    await say(ada, id, token({ name: '😀'.repeat(128), id: ben.id }));
    expect(await inboxOf(ben, 1)).to.have.length(1);
  });

  it('still parse when the name holds brackets and line breaks', async () => {
    const odd = await tenant.person('A [b] c\nd');
    const id = await talk(ada, odd);
    const sent = await say(ada, id, `x ${token({ name: 'odd', id: odd.id })}`);
    expect(sent.body).to.match(new RegExp(`^x @\\[[^\\[\\]\\r\\n]{1,128}\\]\\(user:${odd.id}\\)$`));
    // What was read can be sent again and means the same.
    await say(ada, id, sent.body);
    expect(await inboxOf(odd, 2)).to.have.length(2);
  });

  it('of a person with a name of 200 characters can be read and sent again', async () => {
    const long = await tenant.person('n'.repeat(200));
    const id = await talk(ada, long);
    const sent = await say(ada, id, token({ name: 'long', id: long.id }));
    expect(sent.body).to.match(/^@\[[^[\]\r\n]{1,128}\]\(user:/);
    await say(ada, id, sent.body);
    expect(await inboxOf(long, 2)).to.have.length(2);
  });

  for (const [what, body, snippet] of [
    ['140 characters', 'x'.repeat(140), 'x'.repeat(140)],
    ['141 characters', 'x'.repeat(141), 'x'.repeat(140)],
    ['emoji, none of them cut in two', '😀'.repeat(200), '😀'.repeat(140)],
  ] as const) {
    it(`give a snippet of at most 140 characters: ${what}`, async () => {
      const ben = await tenant.person('B');
      const id = await talk(ada, ben);
      await say(ada, id, body.slice(0, -2) + body.slice(-2) + token(ben));
      const [found] = await inboxOf(ben, 1);
      const whole = `${body}@B`;
      expect(found?.snippet).to.equal([...whole].slice(0, 140).join(''));
      expect(snippet.startsWith(found?.snippet.slice(0, 20) ?? '?')).to.equal(true);
    });
  }

  it('notify fifty people once each', async () => {
    const people: Member[] = [];
    for (let i = 0; i < 49; i += 1) people.push(await tenant.person(`P${i}`));
    const id = await talk(ada, ...people);
    await say(ada, id, people.map(token).join(' '));
    for (const who of people) expect(await inboxOf(who, 1)).to.have.length(1);
  });

  it('are not made anew by an edit', async () => {
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

  it('lose their snippet, and nothing else, when the message is deleted', async () => {
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
