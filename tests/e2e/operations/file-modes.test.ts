import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { admin } from '../../support/admin-cli.ts';
import { newPartner } from '../../support/partners.ts';
import { newEntity, newRecord } from '../../support/records.ts';
import { eventually, KEYS, newDataFolder, startServer } from '../../support/server.ts';
import { uploaded } from '../../support/uploads.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import { generate, INVOICES, newCustomer, priceMessages, send } from '../billing/invoice-support.ts';

/** A file that is private with this umask is private with any other one. */
const UMASK = 0o000;
/** Pause between two looks, short beside the time that a command takes. */
const LOOK_MS = 3;

/** Starts a child with a umask, which this process has only for that moment. */
const under = <T>(umask: number, start: () => T): T => {
  const before = process.umask(umask);
  try {
    return start();
  } finally {
    process.umask(before);
  }
};

/** Paths and modes of a folder and its contents; skips files deleted meanwhile. */
const modesIn = async (folder: string): Promise<Map<string, string>> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = [folder, ...entries.map((entry) => join(entry.parentPath, entry.name))];
  const modes = new Map<string, string>();
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    const mode = (found.mode & 0o777).toString(8);
    modes.set(relative(folder, path), found.isDirectory() ? `folder ${mode}` : mode);
  }
  return modes;
};

const expectPrivate = (modes: ReadonlyMap<string, string>): void => {
  const open = [...modes].filter(([, mode]) => mode !== '600' && mode !== 'folder 700');
  expect(open).to.deep.equal([]);
};

describe('Files at rest', function () {
  this.timeout(240_000);
  afterEach(endWorld);

  /** Writes one of each kind of file: keys, databases, blobs, heads, invoices of the recorder. */
  const writeAll = async (world: World): Promise<void> => {
    const home = await world.tenant();
    await uploaded(home.admin.api, await newRecord(home, await newEntity(home)), 'a file');
    const partner = await newPartner(world);
    const customer = await newCustomer(world, partner);
    await priceMessages(partner);
    await send(customer, 2);
    const { id } = await generate(partner, customer);
    await partner.api.post(`${INVOICES}/${id}/issue`);
    await home.admin.api.get('/api/v1/tenant/audit/proof');
  };

  it('are readable by their owner only, whatever the umask', async () => {
    const parent = await newDataFolder();
    const place = (name: string): string => join(parent, name);
    const env = { MASTER_KEY: undefined, AUDIT_HEADS: place('heads') };
    const world = await under(UMASK, () => startWorld({ dataDir: place('data'), env }));
    expect(world.server.output()).not.to.contain('other users');
    await writeAll(world);
    const data = await eventually(
      'a file of each kind',
      async () => {
        const found = await modesIn(place('data'));
        const names = [...found.keys()].join('\n');
        const heads = [...(await modesIn(place('heads'))).keys()].some((name) => name.endsWith('.ndjson'));
        const kinds = [
          ...['events', 'read-models', 'keys', 'answers', 'corpus', 'snapshots', 'heads'].map(
            (name) => new RegExp(`^${name}\\.db$`, 'm'),
          ),
          ...[/^events\.db-wal$/m, /^events\.db-shm$/m, /^blobs\/t_[^/]+\/..\/..\/.+$/m],
          ...[/^billing\/.+\.json$/m, /^development-secrets\.json$/m, /^audit-signing-key\.pem$/m],
        ];
        return heads && kinds.every((kind) => kind.test(names)) && found;
      },
      60_000,
    );
    expectPrivate(data);
    const commands = [
      ['rotate-key', '--family', 'tenant'],
      ['verify-data'],
      ['backup', '--to', place('copy'), '--keys-to', place('copied-keys')],
      ['restore', '--from', place('copy'), '--keys-from', place('copied-keys'), '--into', place('restored')],
    ];
    for (const args of commands) {
      let isRunning = true;
      const running = under(UMASK, () => admin(args, { DATA_DIR: place('data') }, '', 120_000));
      void running.finally(() => {
        isRunning = false;
      });
      // Commands create temporary files: locks, and read models for comparison.
      while (isRunning) {
        expectPrivate(await modesIn(parent));
        await setTimeout(LOOK_MS);
      }
      const { code, stderr } = await running;
      expect(code, `${args[0]}: ${stderr}`).to.equal(0);
    }
    await world.server.stop();
    const all = await modesIn(parent);
    expect([...all.keys()]).to.include.members([
      'copy/events.db',
      'copied-keys/keys.db',
      'restored/events.db',
    ]);
    expectPrivate(all);
  });

  it('in a folder that other users can read cause one warning, and the folder stays unchanged', async () => {
    const dataDir = join(await newDataFolder(), 'data');
    await mkdir(dataDir);
    await chmod(dataDir, 0o755);
    const server = await startServer({ dataDir, env: KEYS });
    const warnings = server
      .output()
      .split('\n')
      .filter((line) => line.includes('other users'));
    expect(warnings).to.have.length(1);
    expect(JSON.parse(warnings[0] ?? '')).to.include({ level: 'warn', folder: dataDir, mode: '755' });
    await server.stop();
    expect((await modesIn(dataDir)).get('')).to.equal('folder 755');
  });
});
