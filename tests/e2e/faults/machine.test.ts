import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, newDataFolder, startAndExit } from '../../support/server.ts';
import { type SmallDisk, smallDisk } from '../../support/small-disk.ts';
import {
  BASE,
  endWorld,
  type Member,
  say,
  sharedWorld,
  startWorld,
  talk,
  type World,
} from '../../support/world.ts';

/** Faults of the machine: its disk, its folders, its ports. */

describe('A full disk', () => {
  let disk: SmallDisk;
  let world: World;
  let ada: Member;
  let id: string;

  before(async function () {
    const made = smallDisk(48);
    if (typeof made === 'string') {
      console.log(`      ${made}: the test of a full disk is skipped`);
      return void this.skip();
    }
    disk = made;
    world = await startWorld({ dataDir: disk.path });
    const tenant = await world.tenant();
    ada = await tenant.person('Ada');
    id = await talk(ada, await tenant.person('Ben'));
    await say(ada, id, 'before');
    // The read model must have stored the message before the disk is full.
    await eventually('the read model', async () => (await read()).text.includes('before'));
  });
  after(async () => {
    await endWorld();
    disk?.remove();
  });

  const write = (body: string) => ada.api.post(`${BASE}/${id}/messages`, { body });
  const read = () => ada.api.get(`${BASE}/${id}/messages`);

  it('answers writes with 503 and Retry-After, and goes on to answer reads', async () => {
    await disk.fill();
    const refused = await eventually('a write is refused', async () => {
      const answer = await write('x'.repeat(10_000));
      return answer.status === 503 && answer;
    });
    expect(refused.json).to.include({ error: 'unavailable' });
    expect(Number(refused.header('retry-after'))).to.be.at.least(1);
    const answer = await read();
    expect([answer.status, answer.text.includes('before')]).to.deep.equal([200, true]);
    expect((await world.anybody.get('/health/live')).status).to.equal(200);
  });

  it('accepts writes again without a restart once there is space, and keeps acknowledged ones', async () => {
    disk.empty();
    const sent = await eventually('a write', async () => {
      const answer = await write('after');
      return answer.status === 201;
    });
    expect(sent).to.equal(true);
    await eventually('the read', async () => (await read()).text.includes('after'), 60_000);
    await world.server.stop();
    await world.restart();
    const { text } = await read();
    expect(text).to.contain('before').and.to.contain('after');
  });
});

describe('A start', () => {
  after(endWorld);

  it('ends with one sentence for a data folder that is read-only', async function () {
    const disk = smallDisk(1, ',ro');
    if (typeof disk === 'string') {
      console.log(`      ${disk}: the test of a read-only folder is skipped`);
      return void this.skip();
    }
    try {
      const { code, output } = await startAndExit({ DATA_DIR: disk.path });
      const sentence = 'DATA_DIR must be a folder that this user can write (it is read-only).\n';
      expect([code, output]).to.deep.equal([1, sentence]);
    } finally {
      disk.remove();
    }
  });

  it('ends with one sentence for a data folder that is a file', async () => {
    const { code, output } = await startAndExit({ DATA_DIR: process.execPath });
    const sentence = 'DATA_DIR must be a folder that this user can write (a part of its path is a file).\n';
    expect([code, output]).to.deep.equal([1, sentence]);
  });

  it('ends with one sentence for a data folder that cannot be made', async () => {
    const { code, output } = await startAndExit({ DATA_DIR: '/proc/data/of-the-product' });
    expect(`${code},${output}`).to.match(
      /^1,DATA_DIR must be a folder that this user can write \([A-Z]+\)\.\n$/,
    );
  });

  it('ends with one sentence for files in the data folder that it cannot write', async function () {
    const disk = smallDisk(1, ',ro');
    if (typeof disk === 'string') {
      console.log(`      ${disk}: the test of files that cannot be written is skipped`);
      return void this.skip();
    }
    try {
      const folder = await newDataFolder();
      symlinkSync(disk.path, join(folder, 'blobs'));
      const { code, output } = await startAndExit({ DATA_DIR: folder });
      const sentence = 'DATA_DIR has files that this user cannot write: blobs. Give them to this user.\n';
      expect([code, output]).to.deep.equal([1, sentence]);
    } finally {
      disk.remove();
    }
  });

  it('ends with one sentence for a key folder that cannot be made', async () => {
    const { code, output } = await startAndExit({ KEYSTORE_URL: '/proc/data-keys/of-the-product' });
    expect(`${code},${output}`).to.match(
      /^1,KEYSTORE_URL must be a folder that this user can write \([A-Z]+\)\.\n$/,
    );
  });

  it('ends with one sentence for a key store that does not belong to the log, and leaves it empty', async () => {
    const world = await startWorld();
    const tenant = await world.tenant();
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    await say(ada, await talk(ada, ben), 'sealed');
    await world.server.stop();
    const { dataDir } = world.server;
    // An empty folder, as when its volume is not mounted. Starts twice: the first start must not make keys there.
    const env = { DATA_DIR: dataDir, KEYSTORE_URL: await newDataFolder() };
    for (let nth = 0; nth < 2; nth += 1) {
      const { code, output } = await startAndExit(env);
      const sentence =
        'The key store is empty, and the event log is not: set KEYSTORE_URL to the keys of this log, mount their folder, or restore them.\n';
      expect([code, output]).to.deep.equal([1, sentence]);
    }
    await world.restart();
    expect((await ada.api.get(BASE)).text).to.contain('Ben');
  });

  it('ends with one sentence when the port is in use, and the other server goes on', async () => {
    const world = await sharedWorld();
    const { code, output } = await startAndExit({ PORT: String(world.server.port) });
    expect(code).to.equal(1);
    // A stack trace may follow, depending on the level of the log.
    expect(output).to.match(
      /^The server could not start: .*EADDRINUSE.* \(another process uses PORT: stop it, or set another one\)\.$/m,
    );
    expect((await world.anybody.get('/health/live')).status).to.equal(200);
  });
});
