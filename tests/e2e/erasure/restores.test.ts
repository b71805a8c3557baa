import { copyFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { backup as copyDatabase, DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { findIn, wrappedKeyOf, wrappedPersonKey } from '../../support/files.ts';
import { eventually, newDataFolder } from '../../support/server.ts';
import { deletedMessage, login, user, users } from '../../support/shapes.ts';
import { allMessages } from '../../support/unread-model.ts';
import {
  BASE,
  endWorld,
  restartEnded,
  say,
  startWorld,
  type TestTenant,
  talk,
  USERS,
  type World,
} from '../../support/world.ts';
import { forget, forgotten, GONE, type Known, known, mark, PASSWORD } from './support.ts';

/** Decisions, section 11: an erasure is an event, applied again to any restored keys. */
describe('Erasures, crashes and restored backups', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await startWorld();
  });
  beforeEach(async () => {
    await restartEnded(world);
    tenant = await world.tenant();
  });
  after(endWorld);

  const listed = async ({ admin } = tenant) => (await admin.api.get(`${USERS}?limit=200`)).as(users);
  const tracesOf = (people: readonly Known[]): Record<string, string | Buffer> =>
    Object.fromEntries(
      people.flatMap(({ id, traces }) =>
        Object.entries(traces).map(([what, trace]) => [`${what} of ${id}`, trace]),
      ),
    );
  const files = async (folder: string, name: string): Promise<string[]> =>
    (await readdir(folder)).filter((file) => file.startsWith(name) && file.includes('.db'));

  /**
   * Copies the databases whose names begin with `name`, of a server that is stopped or idle; returns a function that
   * restores them while no server runs.
   */
  const backup = async (name: string): Promise<() => Promise<void>> => {
    const { dataDir } = world.server;
    const kept = await newDataFolder();
    const saved = (await files(dataDir, name)).filter((file) => file.endsWith('.db'));
    expect(saved).not.to.deep.equal([]);
    for (const file of saved) {
      const db = new DatabaseSync(join(dataDir, file), { readOnly: true, timeout: 5000 });
      await copyDatabase(db, join(kept, file));
      db.close();
    }
    return async () => {
      for (const file of await files(dataDir, name)) await rm(join(dataDir, file));
      for (const file of saved) await copyFile(join(kept, file), join(dataDir, file));
    };
  };

  it('kill -9 during erasures leaves each person unchanged, or erased with a free e-mail', async function () {
    this.timeout(90_000);
    const people: Known[] = [];
    for (let nth = 0; nth < 12; nth += 1) people.push(await known(world, tenant));
    const answered = new Set<string>();
    await Promise.all(
      people.map((person) =>
        forget(tenant.admin, person).then(
          () => {
            answered.add(person.id);
            if (answered.size === 3) world.server.signal('SIGKILL');
          },
          () => undefined,
        ),
      ),
    );
    await world.server.exited;
    await world.restart();
    await world.ready();
    const gone = new Set(
      (await listed()).filter(({ status }) => status === 'deactivated').map(({ id }) => id),
    );
    expect([...gone]).to.include.members([...answered]);
    const [left, erased] = [
      people.filter(({ id }) => !gone.has(id)),
      people.filter(({ id }) => gone.has(id)),
    ];
    expect(await findIn(world.server.dataDir, tracesOf(erased)), 'before anything was served').to.deep.equal(
      [],
    );
    for (const each of await listed()) if (gone.has(each.id)) expect(each).to.deep.include(GONE);
    for (const person of left) {
      const entered = await world.anybody.post('/auth/login', { email: person.email, password: PASSWORD });
      expect(entered.as(login).user.display_name).to.equal(person.name);
    }
    for (const { email } of erased) {
      const next = { email, display_name: 'Next', role: 'operator' };
      await eventually(
        'the free e-mail',
        async () => (await tenant.admin.api.post(USERS, next)).status === 201,
        15_000,
      );
    }
  });

  it('an older key store beside the present log restores nobody and nothing', async function () {
    this.timeout(90_000);
    const person = await known(world, tenant);
    const stays = await known(world, tenant);
    const ben = await tenant.person('Ben');
    const chat = await talk(tenant.admin, ben);
    const text = mark('forgetmessage');
    const sent = await say(ben, chat, text);
    const messageKey = wrappedKeyOf(world.server.dataDir, sent.id);
    const restore = await backup('keys.db');
    await forgotten(tenant.admin, person);
    (await ben.api.delete(`${BASE}/${chat}/messages/${sent.id}`)).as(deletedMessage);
    await world.server.stop();
    await restore();
    const { key } = person.traces;
    const traces = { ...person.traces, text, messageKey };
    expect(await findIn(world.server.dataDir, { key: key ?? '' }), 'the backup holds it').not.to.deep.equal(
      [],
    );

    // Starts twice: the second start finds a key store that the first has brought up to date.
    for (let nth = 0; nth < 2; nth += 1) {
      await world.restart();
      // The erasure is applied before the server is ready.
      expect(await findIn(world.server.dataDir, traces)).to.deep.equal([]);
      await world.ready();
      expect((await listed()).find(({ id }) => id === person.id)).to.deep.include(GONE);
      expect((await listed()).find(({ id }) => id === stays.id)?.display_name).to.equal(stays.name);
      expect(JSON.stringify(await allMessages(ben, chat))).not.to.contain('forgetmessage');
      expect(wrappedPersonKey(world.server.dataDir, tenant.id, person.id)).to.equal(undefined);
      if (nth > 0) break;
      await world.server.stop();
      expect(await findIn(world.server.dataDir, traces)).to.deep.equal([]);
      await restore();
    }
  });

  describe('with a complete older backup restored', () => {
    let home: TestTenant;
    /** Forgotten after the backup. */
    let early: Known;
    /** Forgotten after the restore only. */
    let late: Known;
    /** Restores the key store of the log that went on after the backup. */
    let ahead: () => Promise<void>;

    before(async function () {
      this.timeout(90_000);
      await restartEnded(world);
      home = await world.tenant();
      [early, late] = [await known(world, home), await known(world, home)];
      const begin = await backup('');
      await forgotten(home.admin, early);
      for (let nth = 0; nth < 3; nth += 1) await known(world, home);
      await world.server.kill();
      // The key store records its position in the log at this start.
      await world.restart();
      await world.ready();
      await world.server.stop();
      ahead = await backup('keys.db');
      await begin();
      await world.restart();
      await world.ready();
    });

    it('a complete older backup does not know later erasures', async () => {
      const back = (await listed(home)).find(({ id }) => id === early.id);
      expect(back).to.deep.include({ display_name: early.name, status: 'active' });
      // The key store is as old as the log, so the next erasure applies normally.
      await forgotten(home.admin, early);
      const next = { email: early.email, display_name: 'Next', role: 'operator' };
      (await home.admin.api.post(USERS, next)).as(user, 201);
      const { name = '', key = '' } = early.traces;
      expect(await findIn(world.server.dataDir, { name, key })).to.deep.equal([]);
    });

    it('a key store of another history of the log is checked from the beginning', async function () {
      this.timeout(90_000);
      await forgotten(home.admin, late);
      await world.server.stop();
      await ahead();
      const { key = '' } = late.traces;
      expect(await findIn(world.server.dataDir, { key }), 'the other key store holds it').not.to.deep.equal(
        [],
      );
      await world.restart();
      expect(await findIn(world.server.dataDir, late.traces)).to.deep.equal([]);
      await world.ready();
      expect((await listed(home)).find(({ id }) => id === late.id)).to.deep.include(GONE);
    });
  });
});
