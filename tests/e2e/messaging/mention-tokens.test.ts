import { expect } from 'chai';
import { inbox, inboxOf, settled } from '../../support/inbox.ts';
import { messages } from '../../support/shapes.ts';
import { bossAndAda, forSuite } from '../../support/suite.ts';
import { BASE, say, talk, token, USERS } from '../../support/world.ts';

describe('Mentions as tokens in a text', () => {
  const here = forSuite(bossAndAda);

  for (const [what, text] of [
    ['a name of 129 characters', (id: string) => `@[${'x'.repeat(129)}](user:${id})`],
    ['an empty name', (id: string) => `@[](user:${id})`],
    ['a bracket in the name', (id: string) => `@[a[b](user:${id})`],
    ['a line break in the name', (id: string) => `@[a\nb](user:${id})`],
    ['a missing at sign', (id: string) => `[Ben](user:${id})`],
    ['another kind', (id: string) => `@[Ben](users:${id})`],
    ['a space before the id', (id: string) => `@[Ben](user: ${id})`],
    ['a missing end', (id: string) => `@[Ben](user:${id}`],
    ['the id in capitals', (id: string) => `@[Ben](user:${id.toUpperCase()})`],
  ] as const) {
    it(`are not made by a token with ${what}`, async () => {
      const { tenant, ada } = here();
      const [ben, fence] = [await tenant.person('Ben'), await tenant.person('Fence')];
      const id = await talk(ada, ben, fence);
      const body = text(ben.id);
      expect((await say(ada, id, body)).body).to.equal(body);
      await settled(ada, id, fence);
      expect(await inbox(ben)).to.have.length(0);
    });
  }

  it('are made for any given name, and show the present name', async () => {
    const { tenant, ada } = here();
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

  it('may hold a name of 128 emoji', async () => {
    const { tenant, ada } = here();
    const ben = await tenant.person('Ben');
    const id = await talk(ada, ben);
    await say(ada, id, token({ name: '😀'.repeat(128), id: ben.id }));
    expect(await inboxOf(ben, 1)).to.have.length(1);
  });

  it('still parse when the name holds brackets and line breaks', async () => {
    const { tenant, ada } = here();
    const odd = await tenant.person('A [b] c\nd');
    const id = await talk(ada, odd);
    const sent = await say(ada, id, `x ${token({ name: 'odd', id: odd.id })}`);
    expect(sent.body).to.match(new RegExp(`^x @\\[[^\\[\\]\\r\\n]{1,128}\\]\\(user:${odd.id}\\)$`));
    // A text that was read can be sent again with the same mention.
    await say(ada, id, sent.body);
    expect(await inboxOf(odd, 2)).to.have.length(2);
  });

  it('of a person with a name of 200 characters can be read and sent again', async () => {
    const { tenant, ada } = here();
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
      const { tenant, ada } = here();
      const ben = await tenant.person('B');
      const id = await talk(ada, ben);
      await say(ada, id, body.slice(0, -2) + body.slice(-2) + token(ben));
      const [found] = await inboxOf(ben, 1);
      const whole = `${body}@B`;
      expect(found?.snippet).to.equal([...whole].slice(0, 140).join(''));
      expect(snippet.startsWith(found?.snippet.slice(0, 20) ?? '?')).to.equal(true);
    });
  }
});
