import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { activeExtension, loadExtension, mintToken } from '../../support/delegation.ts';
import { severalTicks, untilPasses } from '../../support/eventually.ts';
import { notifications } from '../../support/shapes.ts';
import {
  endWorld,
  type Member,
  NOTIFICATIONS,
  sharedWorld,
  type TestTenant,
  token,
  type World,
} from '../../support/world.ts';
import { at, create, define, note, notes, type Record, remove } from './support.ts';

/** Decisions, sections 4 and 6: notes on records. */
describe('Notes', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;
  let ben: Member;
  let entity: string;
  let record: Record;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
    ben = await tenant.person('Ben');
    entity = await define(tenant.admin, { key: 'a', type: 'text' });
    record = await create(ada, entity);
  });
  after(endWorld);

  const path = (of: Pick<Record, 'id' | 'entity_name'> = record) => `${at(of.entity_name, of.id)}/notes`;
  const add = async (who: Member, body: string, of?: Record) =>
    (await who.api.post(path(of), { body })).as(note, 201);
  const bell = async (who: Member) => (await who.api.get(NOTIFICATIONS)).as(notifications);

  it('are listed oldest first, in pages', async () => {
    const own = await create(ada, entity);
    const made = [await add(ada, 'one', own), await add(ben, 'two', own), await add(ada, 'three', own)];
    expect(made[1]).to.deep.include({
      body: 'two',
      author_user_id: ben.id,
      author: { kind: 'user', id: ben.id },
    });
    expect((await ben.api.get(path(own))).as(notes)).to.deep.equal(made);
    const first = await ben.api.get(`${path(own)}?limit=2`);
    expect(first.as(notes)).to.deep.equal(made.slice(0, 2));
    const next = /<([^>]+)>/.exec(first.header('link') ?? '')?.[1] ?? '';
    expect((await ben.api.get(next)).as(notes)).to.deep.equal(made.slice(2));
  });

  it('leave version and values of their record unchanged', async () => {
    const own = await create(ada, entity);
    await add(ada, 'x', own);
    expect((await ada.api.get(at(entity, own.id))).json).to.deep.equal(own);
  });

  it('notify each mentioned person once, and never the author', async () => {
    const body = `${token(ben)} and ${token(ben)} and ${token(ada)} ${'x'.repeat(200)}`;
    const made = await add(ada, body);
    expect(made.body).to.equal(body);
    const raised = await untilPasses(async () => {
      const found = (await bell(ben)).filter(({ note_id }) => note_id === made.id);
      expect(found).to.have.length(1);
      return found[0];
    });
    expect(raised).to.deep.include({
      kind: 'note_mention',
      subject_kind: 'entity',
      subject_id: record.id,
      actor_email: ada.email,
      read_at: null,
    });
    expect(raised?.snippet).to.equal(`@Ben and @Ben and @Ada ${'x'.repeat(200)}`.slice(0, 140));
    await severalTicks();
    expect((await bell(ada)).filter(({ note_id }) => note_id === made.id)).to.deep.equal([]);
  });

  it('do not notify deactivated and foreign people', async () => {
    const former = await tenant.person('Former');
    const stranger = await (await world.tenant()).person('Stranger');
    const state = { status: 'deactivated' };
    expect((await tenant.admin.api.patch(`/api/v1/tenant/users/${former.id}`, state)).status).to.equal(200);
    const body = `${token(former)} ${token(stranger)} ${token(ben)}`;
    const made = await add(ada, body);
    expect(made.body).to.equal(body);
    await untilPasses(async () =>
      expect((await bell(ben)).map(({ note_id }) => note_id)).to.include(made.id),
    );
    expect(await bell(stranger)).to.deep.equal([]);
  });

  it('show the present name of mentioned people', async () => {
    const cleo = await tenant.person('Cleo');
    const made = await add(ada, `Hello ${token(cleo)}`);
    await tenant.admin.api.patch(`/api/v1/tenant/users/${cleo.id}`, { display_name: 'Kleopatra' });
    const listed = (await ben.api.get(`${path()}?limit=200`)).as(notes).find(({ id }) => id === made.id);
    expect(listed?.body).to.equal(`Hello @[Kleopatra](user:${cleo.id})`);
  });

  it('are refused without a valid body', async () => {
    for (const body of ['', ' \n ', 'x'.repeat(10_001), 'a\u0000b', '\ud800', 7, null, undefined]) {
      expect((await ada.api.post(path(), { body })).status).to.equal(400);
    }
    expect((await ada.api.post(path(), { body: '😀'.repeat(10_000) })).status).to.equal(201);
  });

  it('are found under their record only', async () => {
    const other = await define(tenant.admin);
    for (const of of [
      { entity_name: entity, id: randomUUID() },
      { entity_name: other, id: record.id },
      { entity_name: 'nothing', id: record.id },
      { entity_name: entity, id: 'x' },
    ]) {
      expect((await ada.api.get(path(of))).status).to.equal(404);
      expect((await ada.api.post(path(of), { body: 'x' })).status).to.equal(404);
    }
    const own = await create(ada, entity);
    await add(ada, 'x', own);
    await remove(ada, own);
    expect((await ada.api.get(path(own))).status).to.equal(404);
    expect((await ada.api.post(path(own), { body: 'x' })).status).to.equal(404);
  });

  it('are written by tokens with data:write, and read with data:read', async () => {
    const writes = await mintToken(tenant.admin.api, { scopes: ['data:write'] });
    const writer = world.anybody.with(writes.token);
    const made = (await writer.post(path(), { body: `for ${token(ben)}` })).as(note, 201);
    expect(made).to.deep.include({ author_user_id: null, author: { kind: 'api_token', id: writes.id } });
    expect((await writer.get(path())).error).to.equal('scope_missing');
    // A token has no e-mail: `actor_email` is empty, not `[erased]` as for a forgotten person.
    await untilPasses(async () => {
      const raised = (await bell(ben)).filter(({ note_id }) => note_id === made.id);
      expect(raised.map(({ actor_email }) => actor_email)).to.deep.equal(['']);
    });
    await activeExtension(tenant.admin.api, 'noter');
    const extension = world.anybody.with(await loadExtension(tenant.admin.api, 'noter'));
    expect((await extension.post(path(), { body: 'x' })).as(note, 201)).to.deep.include({
      author_user_id: tenant.admin.id,
      author: { kind: 'extension', id: 'noter' },
    });
  });

  it('have one effect per Idempotency-Key, including notifications', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = { body: `once, ${token(ben)}` };
    const [one, two] = await Promise.all([
      ada.api.post(path(), body, { headers }),
      ada.api.post(path(), body, { headers }),
    ]);
    expect(one.as(note, 201)).to.deep.equal(two.as(note, 201));
    const { id } = one.as(note, 201);
    await untilPasses(async () =>
      expect((await bell(ben)).filter(({ note_id }) => note_id === id)).to.have.length(1),
    );
  });
});
