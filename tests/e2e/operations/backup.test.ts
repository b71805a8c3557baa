import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { z } from 'zod';
import { backUp } from '../../../infrastructure/backup/backup.ts';
import { BackupError } from '../../../infrastructure/backup/manifest.ts';
import { restore as restoreBackup } from '../../../infrastructure/backup/restore.ts';
import { admin, MAIN } from '../../support/admin-cli.ts';
import { keyed } from '../../support/client.ts';
import { rejection } from '../../support/eventually.ts';
import { findIn } from '../../support/files.ts';
import { newRecord } from '../../support/records.ts';
import {
  eventually,
  KEYS,
  newDataFolder,
  OF_CHILDREN,
  type Server,
  startServer,
} from '../../support/server.ts';
import { liveMessage, users } from '../../support/shapes.ts';
import { download, uploaded } from '../../support/uploads.ts';
import { BASE, endWorld, say, sharedWorld, startWorld, USERS, type World } from '../../support/world.ts';
import { forgotten, GONE, known } from '../erasure/support.ts';
import { command, envOf, type Filled, filled, verify } from './support.ts';

/** Pause of each of three writers, which write many times during one backup. */
const PACE_MS = 10;

/** Embedded stores are copied while servers write to them, then restored. */
describe('Backups of the embedded stores', function () {
  this.timeout(300_000);
  let world: World;
  let made: Filled;

  before(async () => {
    world = await startWorld();
    made = await filled(world);
  });
  after(endWorld);

  interface Places {
    readonly to: string;
    readonly keys: string;
    readonly into: string;
  }
  const places = async (): Promise<Places> => {
    const folder = await newDataFolder();
    return { to: join(folder, 'data'), keys: join(folder, 'keys'), into: join(folder, 'restored') };
  };
  const backedUp = async ({ to, keys }: Places, dataDir = world.server.dataDir): Promise<void> => {
    const { code, stdout, stderr } = await command(dataDir, 'backup', '--to', to, '--keys-to', keys);
    expect([code, stdout], stderr).to.deep.equal([0, '']);
    for (const secret of Object.values(KEYS)) expect(stderr).not.to.contain(secret);
    expect(stderr).to.contain('Not in the backup: MASTER_KEY.');
  };
  const restored = ({ to, keys, into }: Places, ...more: readonly string[]) =>
    command(world.server.dataDir, 'restore', '--from', to, '--keys-from', keys, '--into', into, ...more);
  const restore = async (where: Places, ...more: readonly string[]): Promise<void> => {
    const { code, stdout, stderr } = await restored(where, ...more);
    expect([code, stdout], stderr).to.deep.equal([0, '']);
  };
  /** The sentence with which the command ends, without a process. */
  const refusalOf = async ({ to: from, keys: keysFrom, into }: Places): Promise<string> => {
    const plan = { from, keysFrom, into, keysInto: undefined, olderKeys: false };
    return z.instanceof(BackupError).parse(await rejection(restoreBackup(plan))).message;
  };
  const backupRefusal = async (to: string, keysTo: string): Promise<string> => {
    const { dataDir } = world.server;
    const plan = { dataDir, keys: join(dataDir, 'keys.db'), to, keysTo };
    return z.instanceof(BackupError).parse(await rejection(backUp(plan, '2026-01-01T00:00:00Z'))).message;
  };
  /** Reads from a second server with tokens of the same people. */
  const at =
    (server: Server) =>
    async (path: string, token: string): Promise<unknown> => {
      const response = await fetch(`${server.base}${path}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(response.status, path).to.equal(200);
      return response.json();
    };
  const ready = (server: Server) =>
    eventually('ready', async () => (await fetch(`${server.base}/health/ready`)).status === 200, 120_000);

  it('made under load hold all acknowledged writes, and restore a complete data folder', async () => {
    const { ada, chat } = made;
    const record = await newRecord(made.tenant);
    const acknowledged: string[] = [];
    const stored: { readonly id: string; readonly content: string }[] = [];
    const stopping = new AbortController();
    const writing = [1, 2, 3].map(async (writer) => {
      for (let nth = 0; !stopping.signal.aborted; nth += 1) {
        acknowledged.push((await say(ada, chat, `by ${writer}, the ${nth}th`)).id);
        // Leaves the processor to the backup.
        await setTimeout(PACE_MS);
        if (nth % 5 !== 0) continue;
        const content = `content ${writer} ${nth}`;
        stored.push({ id: (await uploaded(made.tenant.admin.api, record, content)).id, content });
      }
    });
    await eventually('some writes', () => acknowledged.length > 30, 120_000);
    const [messagesBefore, filesBefore] = [[...acknowledged], [...stored]];
    const where = await places();
    await backedUp(where);
    const messagesAfter = acknowledged.length;
    stopping.abort();
    await Promise.all(writing);
    expect(messagesAfter, 'people wrote meanwhile').to.be.greaterThan(messagesBefore.length);
    expect((await readdir(where.to)).toSorted()).to.deep.equal(
      ['answers.db', 'backup.json', 'blobs', 'blobs.txt', 'events.db'].toSorted(),
    );
    expect((await readdir(where.keys)).toSorted()).to.deep.equal(['backup.json', 'keys.db']);
    // The data's folder holds the keys in no form.
    expect(await findIn(where.to, KEYS)).to.deep.equal([]);

    await restore(where);
    const checked = await verify(where.into, '--no-read-models');
    expect([checked.code, checked.stdout], checked.stderr).to.deep.equal([0, '']);
    const server = await startServer({ dataDir: where.into });
    await ready(server);
    const there = z.array(z.looseObject({ id: z.string(), body: z.string().optional() }));
    const found = new Map<string, string>();
    for (let before: string | undefined; ; ) {
      const more = before === undefined ? '' : `&before=${before}`;
      const page = there.parse(await at(server)(`${BASE}/${chat}/messages?limit=200${more}`, ada.token));
      for (const { id, body = '' } of page) found.set(id, body);
      const next = page.length < 200 ? undefined : page.at(-1)?.id;
      if (next === undefined || next === before) break;
      before = next;
    }
    for (const id of messagesBefore) expect(found.get(id), 'an acknowledged message').to.match(/^by \d/);
    for (const { id, content } of filesBefore) {
      const { status, bytes } = await download(server, made.tenant.admin.token, id);
      expect([status, bytes.toString()]).to.deep.equal([200, content]);
    }
    const all = users.parse(await at(server)(`${USERS}?limit=200`, made.tenant.admin.token));
    expect(all.find(({ id }) => id === made.gone)).to.deep.include(GONE);
    expect(all.find(({ id }) => id === ada.id)?.display_name).to.equal('Ada');
    await server.stop();
    const again = await verify(where.into);
    expect([again.code, again.stdout], again.stderr).to.deep.equal([0, '']);
  });

  it('replay no stored answer whose write their log lacks, and execute its request once', async () => {
    const { ada, chat } = made;
    const path = `${BASE}/${chat}/messages`;
    const early = (await ada.api.post(path, { body: 'early' }, keyed('early'))).as(liveMessage, 201);
    const where = await places();
    await backedUp(where);
    const late = (await ada.api.post(path, { body: 'late' }, keyed('late'))).as(liveMessage, 201);
    // A backup copies answers after the log. Here they include the answer of a write that the copied log lacks.
    const [whole, later] = [await places(), await places()];
    await backedUp(whole);
    await restore(whole);
    await cp(join(where.to, 'events.db'), join(whole.into, 'events.db'));
    await backedUp(later, whole.into);

    await restore(later);
    const server = await startServer({ dataDir: later.into });
    await ready(server);
    const send = async (body: string) => {
      const response = await fetch(`${server.base}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${ada.token}`,
          'content-type': 'application/json',
          'idempotency-key': body,
        },
        body: JSON.stringify({ body }),
      });
      const { id } = z.looseObject({ id: z.string() }).parse(await response.json());
      return { id, replayed: response.headers.get('idempotency-replayed') };
    };
    expect(await send('early')).to.deep.equal({ id: early.id, replayed: 'true' });
    const second = await send('late');
    // The request is executed as the same use of its key, so the derived id is the same.
    expect(second).to.deep.equal({ id: late.id, replayed: null });
    expect(await send('late')).to.deep.equal({ id: late.id, replayed: 'true' });
    await server.stop();
  });

  it('are refused when a byte, a file or a line differs', async () => {
    const where = await places();
    await backedUp(where);
    const blob = (await readdir(join(where.to, 'blobs'), { recursive: true, withFileTypes: true })).find(
      (entry) => entry.isFile(),
    );
    if (blob === undefined) throw new Error('no blob');
    const spoils: readonly (readonly [string, (folder: Places) => unknown, RegExp])[] = [
      [
        'a byte of the log',
        ({ to }) => flip(join(to, 'events.db')),
        /events\.db was changed after the backup/,
      ],
      [
        'the end of the keys',
        ({ keys }) => appendFileSync(join(keys, 'keys.db'), 'x'),
        /keys\.db was changed after the backup/,
      ],
      ['a file', ({ to }) => rm(join(to, 'answers.db')), /answers\.db is missing/],
      [
        'a blob',
        ({ to }) => flip(join(blob.parentPath.replace(where.to, to), blob.name)),
        /was changed after the backup/,
      ],
      [
        'the list of blobs',
        ({ to }) => appendFileSync(join(to, 'blobs.txt'), `${'0'.repeat(64)} 1 ../../x\n`),
        /blobs\.txt was changed after the backup/,
      ],
      [
        'the manifest',
        ({ to }) => writeFileSync(join(to, 'backup.json'), '{"format":1}'),
        /backup\.json was not written by a backup/,
      ],
      ...(['to', 'keys'] as const).flatMap((part) =>
        [[], [{ name: 'events.db', size: 1, sha256: '0'.repeat(64) }]].map(
          (files) =>
            [
              `${files.length} files of ${part}`,
              async ({ [part]: folder }: Places) => {
                const path = join(folder, 'backup.json');
                const whole: unknown = JSON.parse(await readFile(path, 'utf8'));
                writeFileSync(path, JSON.stringify(Object.assign({}, whole, { files })));
              },
              /does not name the files of a backup/,
            ] as const,
        ),
      ),
      [
        'keys for data',
        ({ to, keys }) => cp(join(keys, 'backup.json'), join(to, 'backup.json')),
        /is a backup of keys, not of data/,
      ],
    ];
    for (const [what, work, refusal] of spoils) {
      const spoilt = await places();
      await cp(where.to, spoilt.to, { recursive: true });
      await cp(where.keys, spoilt.keys, { recursive: true });
      await work(spoilt);
      expect(await refusalOf(spoilt), what).to.match(refusal);
      expect((await readdir(join(spoilt.to, '..'))).toSorted(), what).to.deep.equal(['data', 'keys']);
    }
  });

  it('are restored to an empty folder only, with keys of the same log that are not older', async () => {
    const [first, second] = [await places(), await places()];
    await backedUp(first);
    await say(made.ada, made.chat, 'after the first');
    await backedUp(second);
    const refused = async (plan: Places, wanted: RegExp, ...more: readonly string[]): Promise<void> => {
      const { code, stderr } = await restored(plan, ...more);
      expect([code, wanted.test(stderr)], stderr).to.deep.equal([1, true]);
    };
    await refused({ ...second, into: world.server.dataDir }, /is not empty/);
    await refused({ ...second, keys: first.keys }, /These keys are older than the log/);
    const foreign = await places();
    await backedUp(foreign, (await sharedWorld()).server.dataDir);
    await refused({ ...first, keys: foreign.keys }, /These keys belong to another log/);
    const same = join(first.into, 'a');
    expect(await backupRefusal(same, join(same, 'b'))).to.equal(
      'Keys and data must be kept apart: neither folder may be inside the other.',
    );
    const outside = await command(world.server.dataDir, 'backup', '--to', first.into);
    expect(outside.code).to.equal(2);
    const link = join(first.into, '..', 'link');
    await symlink(world.server.dataDir, link);
    for (const inside of [world.server.dataDir, link]) {
      const [to, keys] = [join(inside, 'backup'), join(foreign.into, 'keys')];
      for (const [a, b] of [
        [to, keys],
        [keys, to],
      ] as const) {
        expect(await backupRefusal(a, b)).to.match(/^The backup must be outside the data folder/);
        expect([existsSync(to), existsSync(keys)]).to.deep.equal([false, false]);
      }
    }
    await refused(first, /must not be inside the new data folder/, '--keys-into', join(first.into, 'keys'));
    expect(existsSync(first.into)).to.equal(false);
    // Keys may be newer, and in a folder of their own.
    await mkdir(first.into, { recursive: true });
    const keysInto = join(first.to, '..', 'key-store');
    await restore({ ...first, keys: second.keys }, '--keys-into', keysInto);
    expect(await readdir(keysInto)).to.deep.equal(['keys.db']);
    expect((await readdir(first.into)).toSorted()).to.deep.equal(['answers.db', 'blobs', 'events.db']);
    const server = await startServer({ dataDir: first.into, env: { KEYSTORE_URL: keysInto } });
    await ready(server);
    await server.stop();
  });

  it('of keys from before an erasure restore nothing beside a later log', async () => {
    const [before, after] = [await places(), await places()];
    const person = await known(world, made.tenant);
    await backedUp(before);
    await forgotten(made.tenant.admin, person);
    await backedUp(after);
    const { name = '', key = '' } = person.traces;
    expect(await findIn(before.keys, { key }), 'the older keys hold it').not.to.deep.equal([]);
    await restore({ ...after, keys: before.keys }, '--older-keys');
    const faults = await verify(after.into, '--no-read-models');
    expect(faults.stdout).to.contain('key_not_erased').and.to.contain(person.id);
    const server = await startServer({ dataDir: after.into });
    await ready(server);
    expect(await findIn(after.into, { key, name })).to.deep.equal([]);
    const all = users.parse(await at(server)(`${USERS}?limit=200`, made.tenant.admin.token));
    expect(all.find(({ id }) => id === person.id)).to.deep.include(GONE);
    await server.stop();
  });

  it('are refused when a store is not embedded', async () => {
    const { to, keys } = await places();
    for (const [name, value] of [
      ['MONGODB_URL', 'mongodb://localhost:1'],
      ['KEYSTORE_URL', 'mongodb://localhost:1'],
      ['EVENTSTORE_URL', 'esdb://localhost:1'],
    ] as const) {
      const env = { ...envOf(world.server.dataDir), [name]: value };
      const { code, stderr } = await admin(['backup', '--to', to, '--keys-to', keys], env, '', 120_000);
      expect([code, stderr.includes('docs/operations.md')], stderr).to.deep.equal([1, true]);
    }
  });

  it('are refused when the backup was killed midway', async () => {
    const record = await newRecord(made.tenant);
    for (let nth = 0; nth < 12; nth += 1) {
      await uploaded(made.tenant.admin.api, record, `${nth}`.repeat(2_000_000));
    }
    let killed = 0;
    for (const what of ['blobs', 'events.db', 'answers.db', 'blobs.txt']) {
      const where = await places();
      const args = [MAIN, 'backup', '--to', where.to, '--keys-to', where.keys];
      const child = spawn(process.execPath, args, {
        env: { ...OF_CHILDREN, ...envOf(world.server.dataDir) },
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      await eventually('a part', () => existsSync(join(where.to, what)) || child.exitCode !== null, 120_000);
      child.kill('SIGKILL');
      await ended;
      if (existsSync(join(where.to, 'backup.json'))) continue;
      killed += 1;
      expect(await refusalOf(where)).to.equal(
        `${where.to} holds no complete backup: backup.json is missing.`,
      );
      expect(existsSync(where.into)).to.equal(false);
      // A killed backup is not continued either: a backup needs an empty folder.
      expect(await backupRefusal(where.to, where.keys)).to.equal(`${where.to} is not empty.`);
    }
    expect(killed).to.be.greaterThan(1);
  });
});

const flip = (path: string): void => {
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
};
