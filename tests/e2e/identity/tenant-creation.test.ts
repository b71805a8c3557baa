import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { z } from 'zod';
import { findIn } from '../../support/files.ts';
import { eventually, randomName } from '../../support/server.ts';
import { login, tenant as shape, validationFailed } from '../../support/shapes.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';

/** More tenants than this must exist after the kills. */
const ENOUGH = 4;

describe('The creation of a tenant', () => {
  let world: World;

  before(async () => {
    world = await startWorld();
  });
  after(endWorld);

  const admin = {
    email: 'First.Admin@people.example',
    password: 'the first password',
    display_name: 'Fir St',
  };
  const signIn = (id: string) =>
    world.anybody.post('/auth/login', { email: admin.email, password: admin.password, tenant: id });

  it('sets the given status, or active by default', async () => {
    const create = (own: object) =>
      world.platform.post('/super/tenants', { id: randomName('t'), name: 'X', ...own });
    expect((await create({})).as(shape, 201).status).to.equal('active');
    expect((await create({ status: 'active' })).as(shape, 201).status).to.equal('active');
    const made = (await create({ status: 'suspended', admin })).as(shape, 201);
    expect(made.status).to.equal('suspended');
    const path = `/super/tenants/${made.id}`;
    expect((await world.platform.get(path)).as(shape)).to.deep.equal(made);
    const all = (await world.platform.get('/super/tenants?limit=200')).as(z.array(shape));
    expect(all.find(({ id }) => id === made.id)).to.deep.equal(made);
    expect((await signIn(made.id)).error).to.equal('tenant_suspended');
    await world.platform.patch(path, { status: 'active' });
    (await signIn(made.id)).as(login);
    for (const status of ['gone', '', 1, null]) {
      const refused = (await create({ status })).as(validationFailed, 400);
      expect(refused.details.field).to.equal('status');
    }
  });

  it('leaves the first admin’s texts under the person’s own key only', async () => {
    const { id } = (
      await world.platform.post('/super/tenants', { id: randomName('t'), name: 'X', admin })
    ).as(shape, 201);
    await eventually('the end of the first key', () => firstKeys(id) === 0);
    expect(destroyedKeys(id)).to.equal(1);
    (await signIn(id)).as(login);
    const secrets = { email: admin.email, name: admin.display_name, password: admin.password };
    expect(await findIn(world.server.dataDir, secrets)).to.deep.equal([]);
  });

  it('completes with its first admin, at any moment of a crash', async () => {
    const found: string[] = [];
    // Repeats with later kills until enough tenants were stored.
    for (let afterMs = 0; afterMs <= 8 || (found.length <= ENOUGH && afterMs < 100); afterMs += 8) {
      const ids = Array.from({ length: 8 }, () => randomName('t'));
      const creating = ids.map((id) =>
        world.platform.post('/super/tenants', { id, name: 'X', admin }).catch((error: unknown) => {
          // Only the connection may fail.
          if (!(error instanceof TypeError)) throw error;
        }),
      );
      // Hashing the passwords takes most of the time; the kill must hit the steps after it.
      await Promise.race(creating);
      setTimeout(() => world.server.signal('SIGKILL'), afterMs);
      await Promise.all(creating);
      await world.server.exited;
      await world.restart();
      await world.ready();
      for (const id of ids)
        if ((await world.platform.get(`/super/tenants/${id}`)).status !== 404) found.push(id);
    }
    for (const id of found) {
      await eventually(`the admin of ${id}`, async () => (await signIn(id)).status === 200, 10_000);
      const again = await world.platform.post('/super/tenants', { id, name: 'X', admin });
      expect(again.error).to.equal('already_exists');
    }
    expect(found.length).to.be.greaterThan(ENOUGH);
    // Checks found tenants only: the key of a creation that was never stored seals nothing.
    await eventually('the end of the first keys', () => found.every((id) => firstKeys(id) === 0), 15_000);
    expect(destroyedKeys('')).to.be.at.least(found.length);
  }).timeout(120_000);

  /** Counts keys that sealed first admins in tenants' first events, for one tenant or (with an empty id) for all. */
  const keysWhere = (id: string, condition: string): number => {
    const db = new DatabaseSync(join(world.server.dataDir, 'keys.db'), { readOnly: true });
    try {
      const query = `SELECT count(*) AS count FROM data_keys WHERE id LIKE ? AND wrapped ${condition}`;
      return Number(db.prepare(query).get(`platform/first-admin-${id}%`)?.count);
    } finally {
      db.close();
    }
  };
  const firstKeys = (id: string): number => keysWhere(id, 'IS NOT NULL');
  const destroyedKeys = (id: string): number => keysWhere(id, 'IS NULL');
});
