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
import type { LogImport } from '../../../infrastructure/event-store/log-import.ts';
import { openSqliteImport } from '../../../infrastructure/event-store/sqlite/import.ts';
import { importStores } from '../../../infrastructure/move/import.ts';
import { openAnswers, openBlobs, openEvents, openKeys } from '../../../infrastructure/stores.ts';
import { admin, MAIN } from '../../support/admin-cli.ts';
import { type LocalEventStoreDb, serveHere } from '../../support/eventstoredb/serve.ts';
import { rejection } from '../../support/eventually.ts';
import { testLogger } from '../../support/fakes.ts';
import { exportedEvents, importAll } from '../../support/imported-logs.ts';
import { describeWithMongo, type TestDatabase } from '../../support/mongodb-server.ts';
import { eventually, KEYS, newDataFolder, OF_CHILDREN } from '../../support/server.ts';
import { endWorld } from '../../support/world.ts';

/** More than an import appends at once (500). */
const EVENTS = 900;
/** More than an import stores at once (200). */
const KEYS_OF_DATA = 250;
/** Larger than a chunk of GridFS. */
const LARGE = 300_000;
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
  const ids = Array.from({ length: KEYS_OF_DATA }, () => `t0/message-${randomUUID()}`);
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
    const size = nth < 4 ? LARGE : 1000;
    await blobs.put({ tenantId: 't0', id: randomUUID() }, Readable.from([randomBytes(size)]));
  }
  for (const store of [keys, answers, blobs]) await store.close();
};

await describeWithMongo('A move that is interrupted or damaged', (title, start) => {
  describe(title, function () {
    this.timeout(300_000);
    let server: LocalEventStoreDb;
    let database: TestDatabase;
    let folder: string;
    let source: Config;
    let wanted: Awaited<ReturnType<typeof contents>>;
    let from: readonly string[];

    before(async () => {
      server = await serveHere();
      database = start();
      folder = await newDataFolder();
      const dataDir = join(folder, 'source');
      await mkdir(dataDir);
      await fill(dataDir, exportedEvents(EVENTS, 300));
      source = readConfig({ DATA_DIR: dataDir });
      wanted = await contents(source);
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
        // At once, since the import may end before the next look.
        void isDue(reported).then((due) => due && child.kill('SIGKILL'));
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
      const made = await contents(readConfig({ ...env }));
      expect(made.events).to.deep.equal(wanted.events);
      expect(made.keys).to.deep.equal(wanted.keys);
      expect(made.blobs).to.deep.equal(wanted.blobs);
      expect(made.answers).to.have.deep.members(wanted.answers);
    };

    const STAGES = ['The export is complete', `Keys: ${KEYS_OF_DATA}`, 'Files: 20', 'Stored answers: 75'];

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
      const isUnderWay = async (): Promise<boolean> => server.counts.appended > 200;
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
      const keys = join(folder, 'keys');
      const never = async (): Promise<never> => {
        throw new Error('a store was opened');
      };
      const log: LogImport = { begin: never, append: never, finish: never, close: never };
      /** The reason of a refusal, without a process. */
      const refusal = async (spoil: () => Promise<void>): Promise<string> => {
        await rm(spoiled, { recursive: true, force: true });
        await cp(join(folder, 'data'), spoiled, { recursive: true });
        await spoil();
        const target = { log, expectEmpty: never, open: never, report: () => undefined };
        return String(await rejection(importStores({ from: spoiled, keysFrom: keys, ...target })));
      };
      const path = join(spoiled, 'events.ndjson');
      const linesOf = async (): Promise<string[]> => (await readFile(path, 'utf8')).split('\n');
      const flipped = refusal(async () => {
        const events = await linesOf();
        events[733] = events[733]?.replace('"n\\":733', '"n\\":833') ?? '';
        await writeFile(path, events.join('\n'));
      });
      expect(await flipped).to.match(/Line 734 of events\.ndjson is damaged\./);
      const cut = refusal(async () => truncate(path, (await readFile(path)).length - 100));
      expect(await cut).to.match(/Line 900 of events\.ndjson is damaged\./);
      const shorter = refusal(async () => {
        const events = await linesOf();
        await writeFile(path, `${events.slice(0, 600).join('\n')}\n`);
      });
      expect(await shorter).to.match(/has 600 lines, but the export wrote 900/);
      const swapped = refusal(async () => {
        const events = await linesOf();
        [events[5], events[6]] = [events[6] ?? '', events[5] ?? ''];
        await writeFile(path, events.join('\n'));
      });
      expect(await swapped).to.match(/checksum differs/);
      expect(await refusal(() => rm(join(spoiled, 'export.json')))).to.match(/no complete export/);
      const refused = await imported(env, ['--from', spoiled, '--keys-from', keys]);
      expect([refused.code, refused.stdout]).to.deep.equal([1, '']);
      expect(refused.stderr).to.match(/no complete export/);
      const { code, stderr } = await imported(env);
      expect(code, stderr).to.equal(0);
      await expectComplete(env);
    });
  });
});
