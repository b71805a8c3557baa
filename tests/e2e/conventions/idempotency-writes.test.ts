import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { canonicalJson } from '../../../domain/core/canonical-json.ts';
import { type Answer, keyed } from '../../support/client.ts';
import { randomName } from '../../support/server.ts';
import { messages } from '../../support/shapes.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { BASE, type Member, NOTIFICATIONS, USERS } from '../../support/world.ts';
import { expectReplay } from './support.ts';

describe('Idempotency-Key on every kind of write', () => {
  const here = forSuite(adaAndBen);

  const send = (who: Member, body: unknown, key: string): Promise<Answer> =>
    who.api.post(`${BASE}/${here().id}/messages`, body, keyed(key));

  for (const [what, call] of [
    [
      'starting a conversation',
      async () => {
        const others = [(await here().tenant.person('X')).id];
        return (key: string) => here().ada.api.post(BASE, { participant_user_ids: others }, keyed(key));
      },
    ],
    [
      'editing a message',
      async () => {
        const sent = await send(here().ada, { body: 'to edit' }, randomUUID());
        const mid = messages.element.parse(sent.json).id;
        return (key: string) =>
          here().ada.api.patch(`${BASE}/${here().id}/messages/${mid}`, { body: 'edited' }, keyed(key));
      },
    ],
    [
      'marking a conversation as read',
      async () => (key: string) => here().ada.api.post(`${BASE}/${here().id}/read`, undefined, keyed(key)),
    ],
    [
      'marking notifications as read',
      async () => (key: string) =>
        here().ada.api.post(`${NOTIFICATIONS}/mark-read`, { all: true }, keyed(key)),
    ],
    [
      'creating a user',
      async () => {
        const body = { email: `${randomUUID()}@x.example`, display_name: 'X', role: 'operator' };
        return (key: string) => here().tenant.admin.api.post(USERS, body, keyed(key));
      },
    ],
    [
      'changing a user',
      async () => (key: string) =>
        here().tenant.admin.api.patch(
          `${USERS}/${here().ben.id}`,
          { display_name: randomName('n') && 'Ben' },
          keyed(key),
        ),
    ],
    [
      'creating a tenant',
      async () => {
        const body = {
          id: randomName('t'),
          name: 'X',
          admin: { email: 'a@x.example', password: 'password-1', display_name: 'A' },
        };
        return (key: string) => here().world.platform.post('/super/tenants', body, keyed(key));
      },
    ],
    [
      'changing a tenant',
      async () => {
        const other = (await here().world.tenant()).id;
        return (key: string) =>
          here().world.platform.patch(`/super/tenants/${other}`, { plan: 'pro' }, keyed(key));
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

  it('stores nothing from which a request could be guessed', async () => {
    const { world, tenant } = here();
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
