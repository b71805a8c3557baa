import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { exportOf, fillAuditLog, newSigner, proofOf } from '../../support/audit-log.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import { hasPython } from '../../support/verifiers.ts';

const root = join(import.meta.dirname, '../../..');

/** Runs both verifiers, and `verify.ts`, with an empty working folder: auditors get each verifier as one file. */
describe('A verifier without the product', function () {
  this.timeout(60_000);
  let home: string;
  let folder: string;
  let key: string;
  const python = hasPython();

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'packed-'));
    folder = join(home, 'empty');
    await mkdir(folder);
    const packed = spawnSync(
      'npm',
      ['run', '-s', 'pack-verifier', '--', `--outfile=${join(home, 'verify.mjs')}`],
      {
        cwd: root,
        encoding: 'utf8',
      },
    );
    expect(packed.status, packed.stderr).to.equal(0);
    const signer = newSigner();
    key = signer.publicKey;
    const keyStore = memoryKeyStore();
    const events = openSqliteEventStore({ path: join(home, 'events.db') });
    await fillAuditLog(events, keyStore, 'acme', 40, 8);
    await events.close();
    const whole = Buffer.concat(await exportOf({ folder: home, keyStore }, 'acme'));
    await writeFile(join(home, 'events.ndjson'), whole);
    await writeFile(join(home, 'cut.ndjson'), whole.subarray(0, -1));
    await writeFile(join(home, 'proof.ndjson'), (await proofOf({ folder: home }, 'acme', signer)).withHeads);
  });
  after(() => rm(home, { recursive: true }));

  const spawned = (
    command: string,
    program: string,
    args: readonly string[],
    stdout: 'pipe' | number = 'pipe',
    stderr: 'pipe' | number = 'pipe',
  ) =>
    spawnSync(command, [program, ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH },
      encoding: 'utf8',
      stdio: ['ignore', stdout, stderr],
    });
  const programsOf = () => [
    { name: 'verify.mjs', command: process.execPath, program: join(home, 'verify.mjs') },
    { name: 'verify.ts', command: process.execPath, program: join(root, 'api/admin/verify.ts') },
    ...(python ? [{ name: 'verify.py', command: 'python3', program: join(root, 'docs/verify.py') }] : []),
  ];

  it('is one file that needs only Node', async () => {
    const text = await readFile(join(home, 'verify.mjs'), 'utf8');
    const imported = [...text.matchAll(/(?:from|import|require)\s*\(?\s*"([^"]+)"/g)].map(
      ([, name = '']) => name,
    );
    expect(imported).not.to.have.length(0);
    expect(imported.filter((name) => !isBuiltin(name))).to.deep.equal([]);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('verifies an export, and exits with 1 for a truncated one', () => {
    for (const { name, command, program } of programsOf()) {
      const run = (...args: string[]) => spawned(command, program, args);
      const head = ['--proof', '../proof.ndjson', '--public-key', key];
      expect(run('--export', '../events.ndjson', ...head).status, name).to.equal(0);
      expect(run('--export', '../cut.ndjson', ...head).status, name).to.equal(1);
    }
  });

  it('exits with 2 and prints one line for each kind of error that is not in the data', async () => {
    await writeFile(
      join(home, 'not-a-key.pem'),
      '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n',
    );
    const events = ['--export', '../events.ndjson'];
    const proof = ['--proof', '../proof.ndjson'];
    const misuses = [
      [],
      ['--export'],
      ['--export', 'events.ndjson'],
      ['--export', 'events.ndjson', '--proof', 'proof.ndjson', '--public-key', key],
      ['--export', 'events.ndjson', '--heads', 'acme.ndjson', '--public-key', 'key.pem'],
      ['--export', '.'],
      ['--export', '../events.ndjson/x'],
      [...events, '--proof', 'proof.ndjson', '--public-key', key],
      [...events, '--proof', '.', '--public-key', key],
      [...events, '--heads', 'heads.ndjson', '--public-key', key],
      [...events, ...proof],
      [...events, ...proof, '--public-key', 'key.pem'],
      [...events, ...proof, '--public-key', '.'],
      [...events, ...proof, '--public-key', '../not-a-key.pem'],
      ...['yesterday', '2026-02-30T00:00:00Z', '2026-02-28T24:00:00Z', '0000-01-01T00:00:00Z'].map(
        (instant) => [...events, ...proof, ...['--public-key', key, '--not-before', instant]],
      ),
      [...events, '--not-before', '2026-01-01T00:00:00Z'],
      [...events, '--unknown'],
      [...events, 'more'],
    ];
    // The packed verifier is `verify.ts`, so that a few errors are enough for the source.
    const few = misuses.filter((args) => args.length < 3);
    for (const { name, command, program } of programsOf()) {
      const run = (...args: string[]) => spawned(command, program, args);
      for (const args of name === 'verify.ts' ? few : misuses) {
        const { status, stdout, stderr } = run(...args);
        expect([status, stdout], `${name} ${args.join(' ')}: ${stderr}`).to.deep.equal([2, '']);
        expect(stderr.trim().split('\n'), `${name} ${args.join(' ')}`).to.have.length(1);
        expect(stderr).not.to.match(/^\s+at |Traceback/m);
      }
    }
  });

  it('exits with 2 when its output cannot be written', function () {
    if (!existsSync('/dev/full')) this.skip();
    const full = openSync('/dev/full', 'w');
    for (const { name, command, program } of programsOf()) {
      const { status, stderr } = spawned(command, program, ['--export', '../events.ndjson'], full);
      expect(status, `${name}: ${stderr}`).to.equal(2);
      expect(stderr.trim().split('\n'), name).to.have.length(1);
      const args = ['--export', 'nowhere.ndjson'];
      expect(spawned(command, program, args, 'pipe', full).status, `${name}: the sentence`).to.equal(2);
    }
    closeSync(full);
  });
});
