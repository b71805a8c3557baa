import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { findIn, findInText } from '../../support/files.ts';
import { eventually, KEYS, ROOT } from '../../support/server.ts';
import { login, notifications } from '../../support/shapes.ts';
import { listen, refusal } from '../../support/socket.ts';
import { platformToken, tenantToken } from '../../support/tokens.ts';
import {
  BASE,
  endWorld,
  type Member,
  NOTIFICATIONS,
  say,
  startWorld,
  talk,
  token,
  USERS,
  type World,
} from '../../support/world.ts';

/** Decisions, section 11: data is sealed at rest, and logs hold nothing personal or secret at any level. */
describe('Data at rest and in logs', () => {
  let world: World;
  const mark = (what: string): string => `${what}${randomBytes(12).toString('hex')}`;
  const secrets: Record<string, string> = {
    message: `secretmessage ${mark('')} größer 😀`,
    edit: `secretedit ${mark('')}`,
    deleted: `secretdeleted ${mark('')}`,
    outsider: `secretoutsider ${mark('')}`,
    name: `Secretname ${mark('')}`,
    renamed: `Secretrenamed ${mark('')}`,
    email: `${mark('secretmail')}@People.example`,
    adminEmail: `${mark('secretadmin')}@people.example`,
    tokenEmail: `${mark('secretsso')}@people.example`,
    password: mark('secretpassword'),
    newPassword: mark('secretnewpassword'),
    wrongPassword: mark('secretwrongpassword'),
    wrongEmail: `${mark('secretwrong')}@people.example`,
    refusedBody: mark('secretrefused'),
    brokenJson: mark('secretbroken'),
    rootEmail: ROOT.email,
    rootPassword: ROOT.password,
    ...KEYS,
  };
  const texts = (): string[] => [];
  let bearer: string[] = texts();

  before(async function () {
    this.timeout(40_000);
    world = await startWorld({ env: { LOG_LEVEL: 'trace', RATE_LIMIT_PER_MINUTE: '0' } });
    await fill();
  });
  after(endWorld);

  const secret = (name: string): string => secrets[name] ?? '';

  const fill = async (): Promise<void> => {
    const admin = { email: secret('adminEmail'), password: secret('password'), display_name: secret('name') };
    const home = await world.tenant();
    await world.platform.post('/super/tenants', { id: `${home.id}x`, name: 'X', admin });
    const ada = await home.person(secret('name'));
    const out = await home.person('Out');
    const body = {
      email: secret('email'),
      display_name: secret('name'),
      role: 'admin',
      password: secret('password'),
    };
    await home.admin.api.post(USERS, body, { headers: { 'idempotency-key': 'k1' } });
    await home.admin.api.patch(`${USERS}/${ada.id}`, {
      display_name: secret('renamed'),
      password: secret('newPassword'),
    });
    const sso = tenantToken({ ...ada, id: 'sso-person', email: secret('tokenEmail') });
    await world.anybody.with(sso).get('/api/v1/tenant/me');
    const id = await talk(home.admin, ada);
    await converse(home.admin, ada, out, id);
    const session = await world.anybody.post('/auth/login', { email: body.email, password: body.password });
    const changed = await world.anybody
      .with(session.as(login).token)
      .post(
        '/api/v1/tenant/me/password',
        { current_password: body.password, new_password: secret('newPassword') },
        { headers: { 'idempotency-key': 'k4' } },
      );
    await world.anybody.post('/super/auth/login', { email: ROOT.email, password: ROOT.password });
    const sessions = [session, changed].map((answer) => answer.as(login).token);
    bearer = [ada.token, sso, out.token, home.admin.token, platformToken(), ...sessions];
    await mistakes(ada, id);
  };

  const converse = async (boss: Member, ada: Member, out: Member, id: string): Promise<void> => {
    const headers = { 'idempotency-key': 'k2' };
    const sent = await boss.api.post(
      `${BASE}/${id}/messages`,
      { body: `${secret('message')} ${token(ada)}` },
      { headers },
    );
    expect(sent.status).to.equal(201);
    const edited = await say(boss, id, secret('message'));
    await boss.api.patch(
      `${BASE}/${id}/messages/${edited.id}`,
      { body: secret('edit') },
      { headers: { 'idempotency-key': 'k3' } },
    );
    const gone = await say(boss, id, `${secret('deleted')} ${token(ada)}`);
    await say(boss, id, `${secret('outsider')} ${token(out)}`);
    await eventually('the notifications', async () => {
      const found = (await ada.api.get(NOTIFICATIONS)).as(notifications);
      return found.length === 2 && (await out.api.get(NOTIFICATIONS)).as(notifications).length === 1;
    });
    await boss.api.delete(`${BASE}/${id}/messages/${gone.id}`);
    // Enough events for snapshots of the conversation's state.
    for (let i = 0; i < 150; i += 1) await ada.api.post(`${BASE}/${id}/read`);
    for (const by of ['query', 'header', 'subprotocol'] as const) {
      (await listen(world.server, ada.token, { by })).close();
    }
  };

  /** Refused requests, whose content must not be logged either. */
  const mistakes = async (ada: Member, id: string): Promise<void> => {
    const { anybody } = world;
    await anybody.post('/auth/login', { email: secret('wrongEmail'), password: secret('wrongPassword') });
    await anybody.post('/super/auth/login', {
      email: secret('wrongEmail'),
      password: secret('wrongPassword'),
    });
    await anybody.post('/auth/login', {
      email: { x: secret('wrongEmail') },
      password: secret('wrongPassword'),
    });
    await ada.api.post(`${BASE}/${id}/messages`, { body: [secret('refusedBody')] });
    await ada.api.post(`${BASE}/${secret('refusedBody')}/messages`, { body: 'x' });
    await ada.api.get(`/api/v1/${secret('refusedBody')}?token=${ada.token}`);
    await ada.api.post(`${BASE}/${id}/messages`, undefined, { raw: `{"body":"${secret('brokenJson')}` });
    await anybody.with(`${ada.token}x`).get(BASE);
    await refusal(world.server, `${ada.token}x`);
    await refusal(world.server, ada.token, { after: 'x' });
  };

  it('holds no message, name, e-mail, password or key, while running, stopped and restarted', async () => {
    const tokens = Object.fromEntries(bearer.map((each, i) => [`token ${i}`, each.split('.')[2] ?? '']));
    const all = { ...secrets, ...tokens };
    expect(await findIn(world.server.dataDir, all)).to.deep.equal([]);
    await world.server.stop();
    expect(await findIn(world.server.dataDir, all)).to.deep.equal([]);
    const first = world.server.output();
    await world.restart();
    await world.ready();
    expect(await findIn(world.server.dataDir, all)).to.deep.equal([]);
    expect(first.length).to.be.greaterThan(1000);
    for (const output of [first, world.server.output()]) expect(findInText(output, all)).to.deep.equal([]);
  });

  it('is searched completely: an id that must be there is found', async () => {
    const { dataDir } = world.server;
    expect(await findIn(dataDir, { known: 'sso-person' })).not.to.deep.equal([]);
  });
});
