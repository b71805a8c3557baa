import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { readConfig } from '../../../infrastructure/config.ts';
import { secretsOf } from '../../../infrastructure/development-secrets.ts';
import { admin } from '../../support/admin-cli.ts';
import { findInText } from '../../support/files.ts';
import { cleanUp, KEYS, newDataFolder } from '../../support/server.ts';

/** Commands on signing keys. Servers with rotated keys: `rotation.test.ts`, `rolling-rotation.test.ts`. */
describe('The admin command line for keys', () => {
  after(cleanUp);

  const kept = z.record(z.string(), z.string());

  /** A data folder with new secrets, and a function that reads them from its file. */
  const withSecrets = async () => {
    const dataDir = await newDataFolder();
    secretsOf(readConfig({ DATA_DIR: dataDir }));
    const read = async () =>
      kept.parse(JSON.parse(await readFile(join(dataDir, 'development-secrets.json'), 'utf8')));
    return { dataDir, read, before: await read() };
  };

  it('rotates stored secrets, and drops the previous one', async () => {
    const { dataDir, read, before } = await withSecrets();
    const old = before.PLATFORM_JWT_SECRET ?? '';
    const rotated = await admin(['rotate-key', '--family', 'platform'], { DATA_DIR: dataDir });
    expect([rotated.code, rotated.stdout], rotated.stderr).to.deep.equal([0, '']);
    const after = await read();
    const fresh = after.PLATFORM_JWT_SECRET ?? '';
    expect(after).to.deep.equal({
      ...before,
      PLATFORM_JWT_SECRET: fresh,
      PLATFORM_JWT_SECRET_PREVIOUS: old,
    });
    expect(rotated.stderr).to.contain('restart').and.not.to.contain(old).and.not.to.contain(fresh);
    const dropped = await admin(['drop-previous-key', '--family', 'platform'], { DATA_DIR: dataDir });
    expect(dropped.code).to.equal(0);
    expect(await read()).to.deep.equal({ ...before, PLATFORM_JWT_SECRET: fresh });
  }).timeout(60_000);

  it('loses no secret under concurrent rotations', async () => {
    const { dataDir, read, before } = await withSecrets();
    const families = ['tenant', 'platform', 'partner', 'exchange'];
    const ended = await Promise.all(
      families.map((family) => admin(['rotate-key', '--family', family], { DATA_DIR: dataDir })),
    );
    const after = await read();
    const names = [
      'TENANT_JWT_SECRET',
      'PLATFORM_JWT_SECRET',
      'PARTNER_JWT_SECRET',
      'PARTNER_EXCHANGE_SECRET',
    ];
    names.forEach((name, i) => {
      // Successful rotations are visible; refused ones changed nothing.
      const done = ended[i]?.code === 0;
      expect(after[`${name}_PREVIOUS`], name).to.equal(done ? before[name] : undefined);
      expect(after[name] === before[name], name).to.equal(!done);
    });
    expect(ended.some(({ code }) => code === 0)).to.equal(true);
  }).timeout(40_000);

  it('rotates one family once under concurrency, and not while a previous secret is valid', async () => {
    const { dataDir, read, before } = await withSecrets();
    const rotate = (...more: string[]) =>
      admin(['rotate-key', '--family', 'tenant', ...more], { DATA_DIR: dataDir });
    const ended = await Promise.all(Array.from({ length: 3 }, () => rotate()));
    expect(ended.map(({ code }) => code).sort()).to.deep.equal([0, 1, 1]);
    const after = await read();
    expect(after.TENANT_JWT_SECRET_PREVIOUS).to.equal(before.TENANT_JWT_SECRET);
    for (const more of [[], ['--prepare']]) {
      const refused = await rotate(...more);
      expect([refused.code, refused.stdout]).to.deep.equal([1, '']);
      expect(refused.stderr).to.contain('TENANT_JWT_SECRET_PREVIOUS').and.to.contain('--force');
      expect(findInText(refused.stderr, { ...before, ...after })).to.deep.equal([]);
    }
    expect(await read()).to.deep.equal(after);
    expect((await rotate('--force')).code).to.equal(0);
    expect((await read()).TENANT_JWT_SECRET_PREVIOUS).to.equal(after.TENANT_JWT_SECRET);
  }).timeout(90_000);

  /** Merges the variables that a command has printed. */
  const set = (variables: Record<string, string>, stdout: string): Record<string, string> => ({
    ...variables,
    ...Object.fromEntries(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)]),
    ),
  });

  it('prints both steps of a prepared rotation when the secret comes from the environment', async () => {
    const run = (variables: Record<string, string>, ...more: string[]) =>
      admin(['rotate-key', '--family', 'tenant', ...more], variables);
    const first = await run(KEYS, '--prepare');
    expect(first.code, first.stderr).to.equal(0);
    expect(first.stdout).to.match(/^TENANT_JWT_SECRET_NEXT=[\w-]{43}\n$/);
    expect(first.stderr).to.contain('without --prepare');
    const prepared = set(KEYS, first.stdout);
    expect((await run(prepared, '--prepare')).code).to.equal(1);
    const second = await run(prepared);
    expect(second.code, second.stderr).to.equal(0);
    const exchanged = set(prepared, second.stdout);
    expect(exchanged).to.deep.equal({
      ...KEYS,
      TENANT_JWT_SECRET: prepared.TENANT_JWT_SECRET_NEXT,
      TENANT_JWT_SECRET_PREVIOUS: KEYS.TENANT_JWT_SECRET,
      TENANT_JWT_SECRET_NEXT: '',
    });
    for (const { stderr } of [first, second]) {
      expect(findInText(stderr, { ...KEYS, fresh: prepared.TENANT_JWT_SECRET_NEXT ?? '' })).to.deep.equal([]);
    }
    const again = await run(exchanged);
    expect([again.code, again.stdout]).to.deep.equal([1, '']);
    expect(again.stderr).to.contain('--force');
    expect((await run(exchanged, '--force')).stdout).to.contain(
      `TENANT_JWT_SECRET_PREVIOUS=${exchanged.TENANT_JWT_SECRET}\n`,
    );
  }).timeout(90_000);

  it('prints what to set when the secret comes from the environment', async () => {
    const { code, stdout, stderr } = await admin(['rotate-key', '--family', 'tenant'], KEYS);
    expect(code).to.equal(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).to.have.length(2);
    expect(lines[0]).to.match(/^TENANT_JWT_SECRET=[\w-]{43}$/);
    expect(lines[1]).to.equal(`TENANT_JWT_SECRET_PREVIOUS=${KEYS.TENANT_JWT_SECRET}`);
    expect(stderr).to.contain('environment').and.to.contain('restart').and.to.contain('24 hours');
    expect(findInText(stderr, { ...KEYS, fresh: lines[0]?.split('=')[1] ?? '' })).to.deep.equal([]);
    const refused = await admin(['drop-previous-key', '--family', 'tenant'], KEYS);
    expect(refused.code).to.equal(1);
  });
});
