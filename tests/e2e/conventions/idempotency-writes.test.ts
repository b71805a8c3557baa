import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { canonicalJson } from '../../../application/canonical-json.ts';
import type { Answer } from '../../support/client.ts';
import { randomName } from '../../support/server.ts';
import { messages } from '../../support/shapes.ts';
import {
  BASE,
  endWorld,
  type Member,
  NOTIFICATIONS,
  startWorld,
  type TestTenant,
  talk,
  USERS,
  type World,
} from '../../support/world.ts';

describe('Idempotency-Key on every kind of write', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;
  let ben: Member;
  let id: string;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
    ben = await tenant.person('Ben');
    id = await talk(ada, ben);
  });
  after(endWorld);

  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
  const send = (who: Member, body: unknown, key: string): Promise<Answer> =>
    who.api.post(`${BASE}/${id}/messages`, body, keyed(key));

  const expectReplay = (first: Answer, second: Answer): void => {
    expect([second.status, second.text]).to.deep.equal([first.status, first.text]);
    expect(first.header('idempotency-replayed')).to.equal(undefined);
    expect(second.header('idempotency-replayed')).to.equal('true');
    for (const name of ['x-event-position', 'content-type']) {
      expect(second.header(name), name).to.equal(first.header(name));
    }
  };

  for (const [what, call] of [
    [
      'starting a conversation',
      async () => {
        const others = [(await tenant.person('X')).id];
        return (key: string) => ada.api.post(BASE, { participant_user_ids: others }, keyed(key));
      },
    ],
    [
      'editing a message',
      async () => {
        const sent = await send(ada, { body: 'to edit' }, randomUUID());
        const mid = messages.element.parse(sent.json).id;
        return (key: string) =>
          ada.api.patch(`${BASE}/${id}/messages/${mid}`, { body: 'edited' }, keyed(key));
      },
    ],
    ['reading', async () => (key: string) => ada.api.post(`${BASE}/${id}/read`, undefined, keyed(key))],
    [
      'marking',
      async () => (key: string) => ada.api.post(`${NOTIFICATIONS}/mark-read`, { all: true }, keyed(key)),
    ],
    [
      'creating a user',
      async () => {
        const body = { email: `${randomUUID()}@x.example`, display_name: 'X', role: 'operator' };
        return (key: string) => tenant.admin.api.post(USERS, body, keyed(key));
      },
    ],
    [
      'changing a user',
      async () => (key: string) =>
        tenant.admin.api.patch(`${USERS}/${ben.id}`, { display_name: randomName('n') && 'Ben' }, keyed(key)),
    ],
    [
      'creating a tenant',
      async () => {
        const body = {
          id: randomName('t'),
          name: 'X',
          admin: { email: 'a@x.example', password: 'password-1', display_name: 'A' },
        };
        return (key: string) => world.platform.post('/super/tenants', body, keyed(key));
      },
    ],
    [
      'changing a tenant',
      async () => {
        const other = (await world.tenant()).id;
        return (key: string) => world.platform.patch(`/super/tenants/${other}`, { plan: 'pro' }, keyed(key));
      },
    ],
  ] as const) {
    it(`replays ${what}`, async () => {
      const repeat = await call();
      const key = randomUUID();
      const first = await repeat(key);
      expect(first.status).to.be.lessThan(300);
      expectReplay(first, await repeat(key));
    });
  }

  it('keeps nothing of a request that could be guessed from what is kept', async () => {
    const body = {
      email: 'guessed@people.example',
      display_name: 'G',
      role: 'operator',
      password: 'guess-me-now-1',
    };
    const { status } = await tenant.admin.api.post(USERS, body, keyed('to-be-guessed'));
    expect(status).to.equal(201);
    const db = new DatabaseSync(join(world.server.dataDir, 'answers.db'), { readOnly: true });
    const row = db.prepare(`SELECT fingerprint FROM keys WHERE key = 'to-be-guessed'`).get();
    db.close();
    expect(row?.fingerprint).to.match(/^[0-9a-f]{64}$/);
    for (const method of ['post', 'POST']) {
      const text = `${method}\n${USERS}\n${canonicalJson(body)}`;
      expect(row?.fingerprint).not.to.equal(createHash('sha256').update(text).digest('hex'));
    }
  });
});
