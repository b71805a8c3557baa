import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import type { StoredEvent } from '../../../application/ports/event-store.ts';
import { type Config, readConfig } from '../../../infrastructure/config.ts';
import { openSqliteImport } from '../../../infrastructure/event-store/sqlite/import.ts';
import { openAnswers, openBlobs, openEvents, openKeys } from '../../../infrastructure/stores.ts';
import { admin, MAIN } from '../../support/admin-cli.ts';
import { startEventStoreDb, type TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { testLogger } from '../../support/fakes.ts';
import { exportedEvents, importAll } from '../../support/imported-logs.ts';
import { describeWithMongo, type TestDatabase } from '../../support/mongodb-server.ts';
import { eventually, KEYS, newDataFolder, OF_CHILDREN } from '../../support/server.ts';
import { endWorld } from '../../support/world.ts';

const EVENTS = 1500;
type Env = Readonly<Record<string, string>>;

/** All data that a move copies, read from the configured stores. */
const contents = async (config: Config) => {
  const [keys, answers, blobs] = [await openKeys(config), await openAnswers(config), await openBlobs(config)];
  const events = await openEvents(config, testLogger());
  const found = {
    events: await events.readAll({ limit: EVENTS * 2 }),
    keys: new Map<string, string>(),
    answers: [] as unknown[],
    blobs: new Map<string, string>(),
  };
  for await (const { id, wrapped } of keys.list()) {
    found.keys.set(id, wrapped === 'destroyed' ? wrapped : Buffer.from(wrapped).toString('hex'));
  }
  for await (const { expiresAt: _, ...kept } of answers.list()) found.answers.push(kept);
  for await (const { ref } of blobs.list()) {
    const blob = await blobs.open(ref);
    found.blobs.set(
      `${ref.tenantId}/${ref.id}`,
      (await buffer(blob?.stream ?? Readable.from([]))).toString('hex'),
    );
  }
  for (const store of [events, keys, answers, blobs]) await store.close();
  return found;
};

const fill = async (dataDir: string, events: readonly StoredEvent[]): Promise<void> => {
  const config = readConfig({ DATA_DIR: dataDir });
  await importAll(openSqliteImport(join(dataDir, 'events.db')), events);
  const [keys, answers, blobs] = [await openKeys(config), await openAnswers(config), await openBlobs(config)];
  const ids = Array.from({ length: 500 }, () => `t0/message-${randomUUID()}`);
  await keys.put(ids.map((id) => ({ id, wrapped: new Uint8Array(randomBytes(60)) })));
  for (const id of ids.slice(0, 20)) await keys.destroy(id);
  const later = Date.now() + 3_600_000;
  for (let nth = 0; nth < 50; nth += 1) {
    const use = { fingerprint: 'ab'.repeat(32), nonce: randomUUID() };
    await answers.begin('t0/ann', `key-${nth}`, use, later);
    const answer = {
      fingerprint: use.fingerprint,
      status: 201,
      headers: { location: '/x' },
      body: '{"a":"ü\u2028"}',
    };
    if (nth % 2 === 0) await answers.put('t0/ann', `key-${nth}`, answer, later);
  }
  for (let nth = 0; nth < 20; nth += 1) {
    await blobs.put({ tenantId: 't0', id: randomUUID() }, Readable.from([randomBytes(300_000)]));
  }
  for (const store of [keys, answers, blobs]) await store.close();
};

await describeWithMongo('A move that is interrupted or damaged', (title, start) => {
  describe(title, function () {
    this.timeout(300_000);
    let server: TestEventStoreDb;
    let database: TestDatabase;
    let folder: string;
    let source: Config;
    let from: readonly string[];

    before(async () => {
      server = await startEventStoreDb();
      database = start();
      folder = await newDataFolder();
      const dataDir = join(folder, 'source');
      await mkdir(dataDir);
      await fill(dataDir, exportedEvents(EVENTS, 300));
      source = readConfig({ DATA_DIR: dataDir });
      const to = ['--to', join(folder, 'data'), '--keys-to', join(folder, 'keys')];
      const { code, stdout, stderr } = await admin(['export-stores', ...to], { ...KEYS, DATA_DIR: dataDir });
      expect([code, stdout], stderr).to.deep.equal([0, '']);
      from = ['--from', join(folder, 'data'), '--keys-from', join(folder, 'keys')];
    });
    after(async () => {
      await endWorld();
      await server?.stop();
      await database?.dispose();
    });

    const imported = (env: Env, args = from) =>
      admin(['import-stores', ...args], { ...KEYS, ...env }, '', 120_000);

    /** Kills an import when `isDue` accepts its output so far. @returns whether it was killed */
    const killed = async (env: Env, isDue: (reported: string) => Promise<boolean>): Promise<boolean> => {
      const child = spawn(process.execPath, [MAIN, 'import-stores', ...from], {
        env: { ...OF_CHILDREN, ...KEYS, ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let reported = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        reported += text;
      });
      const exited = once(child, 'exit');
      await eventually(
        'the moment of the kill',
        async () => child.exitCode !== null || (await isDue(reported)),
        60_000,
      );
      child.kill('SIGKILL');
      await exited;
      return child.signalCode === 'SIGKILL';
    };

    const expectComplete = async (env: Env): Promise<void> => {
      const [made, wanted] = [await contents(readConfig({ ...env })), await contents(source)];
      expect(made.events).to.deep.equal(wanted.events);
      expect(made.keys).to.deep.equal(wanted.keys);
      expect(made.blobs).to.deep.equal(wanted.blobs);
      expect(made.answers).to.have.deep.members(wanted.answers);
    };

    const STAGES = ['The export is complete', 'Keys: 500', 'Files: 20', 'Stored answers: 75'];

    it('continues in embedded stores after kill -9 at any stage', async () => {
      const env = { DATA_DIR: join(folder, 'embedded') };
      for (const stage of STAGES) {
        expect(await killed(env, async (reported) => reported.includes(stage)), stage).to.equal(true);
      }
      const refused = await admin(['verify-data'], { ...KEYS, ...env });
      expect(refused.code).to.equal(1);
      expect(refused.stderr).to.match(/was not completed|cannot be opened/);
      const { code, stderr } = await imported(env);
      expect(code, stderr).to.equal(0);
      await expectComplete(env);
      const again = await imported(env);
      expect([again.code, again.stderr]).to.deep.equal([0, again.stderr]);
      expect(again.stderr).to.contain('nothing was written');
    });

    it('continues in EventStoreDB and MongoDB after kill -9 at any stage, also between events', async () => {
      const env = {
        DATA_DIR: join(folder, 'servers'),
        EVENTSTORE_URL: server.url,
        MONGODB_URL: database.databaseUrl,
      };
      for (const stage of STAGES) {
        expect(await killed(env, async (reported) => reported.includes(stage)), stage).to.equal(true);
      }
      const isUnderWay = async (): Promise<boolean> => (await server.counts()).appended > 400;
      expect(await killed(env, isUnderWay), 'between events').to.equal(true);
      const { code, stderr } = await imported(env);
      expect(code, stderr).to.equal(0);
      await expectComplete(env);
      const other = { ...env, EVENTSTORE_URL: undefined, DATA_DIR: join(folder, 'other') };
      const occupied = await admin(['import-stores', ...from], { ...KEYS, ...other });
      expect([occupied.code, occupied.stdout]).to.deep.equal([1, '']);
      expect(occupied.stderr).to.match(/MONGODB_URL is not empty/);
      expect(occupied.stderr).not.to.contain(database.databaseUrl);
    });

    it('leaves keys in place with --keys-stay', async () => {
      const vault = join(folder, 'vault');
      const own = join(folder, 'shared-keys');
      await cp(source.DATA_DIR, own, { recursive: true });
      await mkdir(vault);
      await cp(join(own, 'keys.db'), join(vault, 'keys.db'));
      const to = join(folder, 'without-keys');
      const stay = { ...KEYS, KEYSTORE_URL: vault };
      const exported = await admin(['export-stores', '--to', to, '--keys-stay'], { ...stay, DATA_DIR: own });
      expect([exported.code, exported.stdout], exported.stderr).to.deep.equal([0, '']);
      const env = { KEYSTORE_URL: vault, DATA_DIR: join(folder, 'same-keys') };
      const { code, stderr } = await imported(env, ['--from', to, '--keys-stay']);
      expect(code, stderr).to.equal(0);
      await expectComplete(env);
      const neither = await imported(env, ['--from', to]);
      expect([neither.code, neither.stderr]).to.deep.equal([
        2,
        'Either --keys-from <folder> or --keys-stay is needed.\n',
      ]);
    });

    it('refuses a damaged or incomplete export before anything is written', async () => {
      const env = { DATA_DIR: join(folder, 'refused') };
      const spoiled = join(folder, 'spoiled');
      const args = ['--from', spoiled, '--keys-from', join(folder, 'keys')];
      const refusal = async (spoil: () => Promise<void>): Promise<string> => {
        await rm(spoiled, { recursive: true, force: true });
        await cp(join(folder, 'data'), spoiled, { recursive: true });
        await spoil();
        const { code, stdout, stderr } = await imported(env, args);
        expect([code, stdout], stderr).to.deep.equal([1, '']);
        return stderr;
      };
      const log = join(spoiled, 'events.ndjson');
      const flipped = refusal(async () => {
        const lines = (await readFile(log, 'utf8')).split('\n');
        lines[1233] = lines[1233]?.replace('"n\\":1233', '"n\\":1333') ?? '';
        await writeFile(log, lines.join('\n'));
      });
      expect(await flipped).to.match(/Line 1234 of events\.ndjson is damaged\./);
      const cut = refusal(async () => truncate(log, (await readFile(log)).length - 100));
      expect(await cut).to.match(/Line 1500 of events\.ndjson is damaged\./);
      const shorter = refusal(async () => {
        const lines = (await readFile(log, 'utf8')).split('\n');
        await writeFile(log, `${lines.slice(0, 1000).join('\n')}\n`);
      });
      expect(await shorter).to.match(/has 1000 lines, but the export wrote 1500/);
      const swapped = refusal(async () => {
        const lines = (await readFile(log, 'utf8')).split('\n');
        [lines[5], lines[6]] = [lines[6] ?? '', lines[5] ?? ''];
        await writeFile(log, lines.join('\n'));
      });
      expect(await swapped).to.match(/checksum differs/);
      expect(await refusal(() => rm(join(spoiled, 'export.json')))).to.match(/no complete export/);
      const { code, stderr } = await imported(env);
      expect(code, stderr).to.equal(0);
      await expectComplete(env);
    });
  });
});
