import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { marked, notifications, unreadCount, validationFailed } from '../../support/shapes.ts';
import { bossAndAda, forSuite } from '../../support/suite.ts';
import { type Member, NOTIFICATIONS, say, talk, token } from '../../support/world.ts';

describe('Notifications', () => {
  const here = forSuite(bossAndAda);

  const list = async (who: Member, query = '') =>
    (await who.api.get(`${NOTIFICATIONS}${query}`)).as(notifications);
  const unread = async (who: Member) =>
    (await who.api.get(`${NOTIFICATIONS}/unread-count`)).as(unreadCount).unread;
  const mark = (who: Member, body: unknown) => who.api.post(`${NOTIFICATIONS}/mark-read`, body);

  /** A person with `size` unread notifications, newest first. */
  const mentioned = async (size: number) => {
    const who = await here().tenant.person('Ben');
    const id = await talk(here().ada, who);
    for (let i = 0; i < size; i += 1) await say(here().ada, id, `${i} ${token(who)}`);
    const ids = await eventually(
      `${size} notifications`,
      async () => {
        if ((await unread(who)) < size) return undefined;
        return (await list(who, '?limit=200')).map((one) => one.id);
      },
      15_000,
    );
    return { who, ids };
  };

  it('are listed newest first, with the limit clamped to 1..200', async () => {
    const { who } = await mentioned(205);
    const all = await list(who, '?limit=200');
    const times = all.map(({ created_at }) => created_at);
    expect(times).to.deep.equal([...times].sort().reverse());
    for (const [given, size] of [
      ['', 50],
      ['?limit=0', 1],
      ['?limit=-1', 1],
      ['?limit=1', 1],
      ['?limit=200', 200],
      ['?limit=201', 200],
      ['?limit=1000000', 200],
    ] as const) {
      expect(await list(who, given), given).to.deep.equal(all.slice(0, size));
    }
    const seen: string[] = [];
    let next: string | undefined = `${NOTIFICATIONS}?limit=90`;
    while (next !== undefined) {
      const answer = await who.api.get(next);
      seen.push(...answer.as(notifications).map(({ id }) => id));
      next = /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
    }
    expect(new Set(seen).size).to.equal(205);
    expect(seen).to.have.length(205);
    expect(await unread(who)).to.equal(205);
    expect((await mark(who, { all: true })).as(marked).marked).to.equal(205);
  });

  for (const [what, query] of [
    ['limit=x', 'limit=x'],
    ['limit=1.5', 'limit=1.5'],
    ['an empty limit', 'limit='],
    ['unread=1', 'unread=1'],
    ['unread=TRUE', 'unread=TRUE'],
    ['an empty unread', 'unread='],
    ['unread twice', 'unread=true&unread=true'],
    ['a broken cursor', 'cursor=%00'],
  ] as const) {
    it(`refuse ${what}`, async () => {
      const { ada } = here();
      (await ada.api.get(`${NOTIFICATIONS}?${query}`)).as(validationFailed, 400);
    });
  }

  it('are marked by ids, counted exactly, and the unread filter follows', async () => {
    const { who, ids } = await mentioned(4);
    const [a, b, c] = ids;
    expect((await mark(who, { ids: [a, b, a] })).as(marked).marked).to.equal(2);
    expect(await unread(who)).to.equal(2);
    const read = (await list(who)).find(({ id }) => id === a)?.read_at;
    expect(read).to.be.a('string');
    expect((await list(who, '?unread=true')).map(({ id }) => id)).to.deep.equal(ids.slice(2));
    expect(await list(who, '?unread=false')).to.have.length(4);
    expect((await mark(who, { ids: [a, b, c] })).as(marked).marked).to.equal(1);
    expect((await list(who)).find(({ id }) => id === a)?.read_at).to.equal(read);
    expect((await mark(who, { all: true })).as(marked).marked).to.equal(1);
    expect((await mark(who, { all: true })).as(marked).marked).to.equal(0);
    expect(await unread(who)).to.equal(0);
    expect(await list(who, '?unread=true')).to.have.length(0);
  });

  it('are marked, and ids that are unknown, malformed, another user’s or another tenant’s are skipped', async () => {
    const { world, ada } = here();
    const { who, ids } = await mentioned(1);
    const other = await mentioned(1);
    const stranger = await (await world.tenant()).person('Stranger');
    const foreign = [ids[0], other.ids[0], randomUUID(), 'x', '', 'ü'];
    expect((await mark(stranger, { ids: foreign })).as(marked).marked).to.equal(0);
    expect((await mark(ada, { ids: foreign })).as(marked).marked).to.equal(0);
    expect((await mark(who, { ids: foreign })).as(marked).marked).to.equal(1);
    expect(await unread(other.who)).to.equal(1);
  });

  for (const [what, body] of [
    ['a missing body', undefined],
    ['an empty object', {}],
    ['an empty list', { ids: [] }],
    ['all false', { all: false }],
    ['an empty list and all false', { ids: [], all: false }],
    ['ids and all', { ids: ['x'], all: true }],
    ['all as a text', { all: 'true' }],
    ['all as a number', { all: 1 }],
    ['ids as a text', { ids: 'x' }],
    ['ids as numbers', { ids: [1] }],
    ['null for both', { ids: null, all: null }],
  ] as const) {
    it(`are not marked by ${what}: 400`, async () => {
      const { ada } = here();
      (await mark(ada, body)).as(validationFailed, 400);
    });
  }

  it('are marked exactly once by twenty concurrent mark-alls', async () => {
    const { who } = await mentioned(30);
    const answers = await Promise.all(Array.from({ length: 20 }, () => mark(who, { all: true })));
    const sum = answers.reduce((total, answer) => total + answer.as(marked).marked, 0);
    expect(sum).to.equal(30);
    expect(await unread(who)).to.equal(0);
  });

  it('are marked exactly once by twenty overlapping requests while more arrive', async () => {
    const { ada } = here();
    const { who, ids } = await mentioned(30);
    const id = await talk(ada, who);
    const arriving = Promise.all(Array.from({ length: 10 }, () => say(ada, id, token(who))));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => mark(who, { ids: ids.slice(i % 10, (i % 10) + 20) })),
    );
    const sum = answers.reduce((total, answer) => total + answer.as(marked).marked, 0);
    expect(sum).to.equal(29);
    await arriving;
    await eventually('the late ones', async () => (await unread(who)) === 11);
  });
});
