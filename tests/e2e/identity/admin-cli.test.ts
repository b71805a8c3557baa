import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { admin } from '../../support/admin-cli.ts';
import { findIn, findInText } from '../../support/files.ts';
import { EXCHANGE, exchanged, newPartner, PORTAL, session } from '../../support/partners.ts';
import { eventually, KEYS, newDataFolder, ROOT } from '../../support/server.ts';
import { platformClaims, signed } from '../../support/tokens.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';

const NO_KEYS = Object.fromEntries(Object.keys(KEYS).map((name) => [name, undefined]));

/** Runs `npm run admin` as a person who operates the platform. */
describe('The admin command line', () => {
  let world: World;
  let env: Record<string, string>;

  before(async () => {
    world = await startWorld();
    env = { ...KEYS, DATA_DIR: world.server.dataDir };
  });
  after(endWorld);

  const signIn = async (email: string, password: string): Promise<number> =>
    (await world.anybody.post('/super/auth/login', { email, password })).status;

  it('lists its commands, and exits with 2 for unknown ones', async () => {
    const help = await admin(['--help'], env);
    expect([help.code, help.stderr]).to.deep.equal([0, '']);
    for (const name of [
      'create-platform-admin',
      'set-platform-admin-password',
      'mint-partner-assertion',
      'rotate-key',
    ]) {
      expect(help.stdout).to.contain(name);
      const own = await admin([name, '--help'], env);
      expect([own.code, own.stdout.includes(name)]).to.deep.equal([0, true]);
    }
    for (const args of [
      [],
      ['nonsense'],
      ['rotate-key'],
      ['rotate-key', '--family', 'master'],
      ['create-platform-admin'],
      ['create-platform-admin', '--email', 'nobody'],
      ['create-platform-admin', '--email', 'a@b.example', '--password', 'hush-hush-hush'],
      ['create-platform-admin', '--email', 'a@b.example', 'hush-hush-hush'],
      ['mint-partner-assertion', '--partner', 'No Slug', '--email', 'a@b.example'],
    ]) {
      const { code, stdout, stderr } = await admin(args, env, 'the-password-given\n');
      expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
      expect(stderr).not.to.equal('');
      expect(stderr)
        .not.to.contain('hush')
        .and.not.to.match(/\n\s+at /);
    }
  }).timeout(40_000);

  it('creates a platform admin who signs in at once, while a server runs', async () => {
    const password = 'a-password-from-stdin';
    const made = await admin(
      ['create-platform-admin', '--email', 'Second@Platform.example'],
      env,
      `${password}\n`,
    );
    expect([made.code, made.stdout], made.stderr).to.deep.equal([0, '']);
    await eventually('the sign-in', async () => (await signIn('second@platform.example', password)) === 200);
    expect(await signIn('second@platform.example', ROOT.password)).to.equal(401);

    // The same e-mail in another spelling changes nothing.
    const again = await admin(
      ['create-platform-admin', '--email', 'second@platform.EXAMPLE'],
      env,
      'another-password\n',
    );
    expect([again.code, again.stdout]).to.deep.equal([1, '']);
    expect(again.stderr).to.contain('exists already').and.to.contain('set-platform-admin-password');
    expect(await signIn('second@platform.example', password)).to.equal(200);
    expect(await signIn('second@platform.example', 'another-password')).to.equal(401);

    const secrets = { password, email: 'Second@Platform.example', ...KEYS };
    expect(await findIn(world.server.dataDir, secrets)).to.deep.equal([]);
    for (const { stderr } of [made, again])
      expect(findInText(stderr, { password, ...KEYS })).to.deep.equal([]);
  }).timeout(40_000);

  it('lets one of two concurrent creations of an admin win', async () => {
    const passwords = ['first-of-the-two', 'second-of-the-two'];
    const ended = await Promise.all(
      passwords.map((one) => admin(['create-platform-admin', '--email', 'twin@platform.example'], env, one)),
    );
    expect(ended.map(({ code }) => code).sort()).to.deep.equal([0, 1]);
    const winner = passwords[ended.findIndex(({ code }) => code === 0)] ?? '';
    await eventually('the sign-in', async () => (await signIn('twin@platform.example', winner)) === 200);
    const loser = passwords.find((one) => one !== winner) ?? '';
    expect(await signIn('twin@platform.example', loser)).to.equal(401);
  }).timeout(40_000);

  it('replaces a forgotten password of the environment’s admin while the server runs', async () => {
    expect(await signIn(ROOT.email, ROOT.password)).to.equal(200);
    const changed = {
      ...env,
      PLATFORM_ADMIN_EMAIL: ROOT.email,
      PLATFORM_ADMIN_PASSWORD: 'a-changed-password',
    };
    // A restart with another password in the environment keeps the old one; the command changes it.
    const done = await admin(['set-platform-admin-password', '--email', ROOT.email.toUpperCase()], changed);
    expect([done.code, done.stdout], done.stderr).to.deep.equal([0, '']);
    await eventually('the new one', async () => (await signIn(ROOT.email, 'a-changed-password')) === 200);
    expect(await signIn(ROOT.email, ROOT.password)).to.equal(401);
    // The password in the environment is for the admin in the environment only.
    const other = await admin(
      ['set-platform-admin-password', '--email', 'second@platform.example'],
      changed,
      '',
    );
    expect(other.code).to.equal(1);
    expect(await signIn('second@platform.example', 'a-changed-password')).to.equal(401);

    const unknown = await admin(
      ['set-platform-admin-password', '--email', 'nobody@platform.example'],
      env,
      'long-enough-1',
    );
    expect([unknown.code, unknown.stderr]).to.deep.equal([1, 'No platform admin has this e-mail.\n']);
    await world.server.stop();
    await world.restart();
    expect(await signIn(ROOT.email, 'a-changed-password')).to.equal(200);
  }).timeout(40_000);

  it('refuses a password that is too short or missing', async () => {
    for (const input of ['', 'short\n', `${'x'.repeat(201)}\n`]) {
      const { code, stdout } = await admin(
        ['create-platform-admin', '--email', 'x@platform.example'],
        env,
        input,
      );
      expect([code, stdout]).to.deep.equal([1, '']);
    }
    expect(await signIn('x@platform.example', 'short')).to.equal(401);
  }).timeout(40_000);

  it('refuses a master key other than the data’s', async () => {
    const wrong = { ...env, MASTER_KEY: 'another-master-key-0123456789-0123456789' };
    const { code, stderr } = await admin(
      ['create-platform-admin', '--email', 'y@platform.example'],
      wrong,
      'long-enough-1',
    );
    expect(code).to.equal(1);
    expect(stderr).to.contain('MASTER_KEY').and.not.to.contain(wrong.MASTER_KEY);
  });

  it('mints an assertion that the exchange accepts once, and prints nothing else', async () => {
    const { id } = await newPartner(world);
    const mint = ['mint-partner-assertion', '--partner', id, '--email', 'nora@partner.example'];
    for (const [more, permissions] of [
      [[], ['partner-billing']],
      [
        ['--permissions', 'partner-billing, other'],
        ['partner-billing', 'other'],
      ],
      [['--permissions', ''], []],
    ] as const) {
      const { code, stdout, stderr } = await admin([...mint, ...more], env);
      expect(code, stderr).to.equal(0);
      expect(stdout).to.match(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
      const assertion = stdout.trim();
      expect(stderr).not.to.contain(assertion);
      const { token } = (await world.anybody.post(EXCHANGE, { assertion })).as(exchanged);
      const me = (await world.anybody.with(token).get(`${PORTAL}/me`)).as(session);
      expect(me.permissions).to.deep.equal(permissions);
      expect(me.user.email).to.equal('nora@partner.example');
      expect((await world.anybody.post(EXCHANGE, { assertion })).status).to.equal(401);
    }
    const refused = await admin(mint, { ...env, NODE_ENV: 'production' });
    expect([refused.code, refused.stdout]).to.deep.equal([1, '']);
    const empty = await admin(mint, { DATA_DIR: await newDataFolder() });
    expect([empty.code, empty.stdout]).to.deep.equal([1, '']);
  }).timeout(40_000);

  const kept = z.record(z.string(), z.string());

  it('rotates stored secrets: servers accept both from the next start until the previous one is dropped', async () => {
    const own = await startWorld({ env: NO_KEYS });
    const { dataDir } = own.server;
    const file = async () =>
      kept.parse(JSON.parse(await readFile(join(dataDir, 'development-secrets.json'), 'utf8')));
    const status = async (key: string): Promise<number> =>
      (await own.anybody.with(signed(platformClaims(), key)).get('/super/tenants')).status;
    const before = await file();
    const old = before.PLATFORM_JWT_SECRET ?? '';
    expect(await status(old)).to.equal(200);

    const rotated = await admin(['rotate-key', '--family', 'platform'], { DATA_DIR: dataDir });
    expect([rotated.code, rotated.stdout], rotated.stderr).to.deep.equal([0, '']);
    const after = await file();
    const fresh = after.PLATFORM_JWT_SECRET ?? '';
    expect(after).to.deep.equal({
      ...before,
      PLATFORM_JWT_SECRET: fresh,
      PLATFORM_JWT_SECRET_PREVIOUS: old,
    });
    expect(rotated.stderr).to.contain('restart').and.not.to.contain(old).and.not.to.contain(fresh);
    expect(await status(fresh)).to.equal(401);
    await own.server.stop();
    await own.restart();
    expect([await status(fresh), await status(old)]).to.deep.equal([200, 200]);

    const dropped = await admin(['drop-previous-key', '--family', 'platform'], { DATA_DIR: dataDir });
    expect(dropped.code).to.equal(0);
    await own.server.stop();
    await own.restart();
    expect([await status(fresh), await status(old)]).to.deep.equal([200, 401]);
    await own.server.stop();
  }).timeout(60_000);

  it('loses no secret under concurrent rotations', async () => {
    const dataDir = await newDataFolder();
    await admin(['create-platform-admin', '--email', 'a@b.example'], { DATA_DIR: dataDir }, 'long-enough-1');
    const path = join(dataDir, 'development-secrets.json');
    const before = kept.parse(JSON.parse(await readFile(path, 'utf8')));
    const families = ['tenant', 'platform', 'partner', 'exchange'];
    const ended = await Promise.all(
      families.map((family) => admin(['rotate-key', '--family', family], { DATA_DIR: dataDir })),
    );
    const after = kept.parse(JSON.parse(await readFile(path, 'utf8')));
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
    const dataDir = await newDataFolder();
    await admin(['create-platform-admin', '--email', 'a@b.example'], { DATA_DIR: dataDir }, 'long-enough-1');
    const path = join(dataDir, 'development-secrets.json');
    const read = async () => kept.parse(JSON.parse(await readFile(path, 'utf8')));
    const before = await read();
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
    const first = await run(env, '--prepare');
    expect(first.code, first.stderr).to.equal(0);
    expect(first.stdout).to.match(/^TENANT_JWT_SECRET_NEXT=[\w-]{43}\n$/);
    expect(first.stderr).to.contain('without --prepare');
    const prepared = set(env, first.stdout);
    expect((await run(prepared, '--prepare')).code).to.equal(1);
    const second = await run(prepared);
    expect(second.code, second.stderr).to.equal(0);
    const exchanged = set(prepared, second.stdout);
    expect(exchanged).to.deep.equal({
      ...env,
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
    const { code, stdout, stderr } = await admin(['rotate-key', '--family', 'tenant'], env);
    expect(code).to.equal(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).to.have.length(2);
    expect(lines[0]).to.match(/^TENANT_JWT_SECRET=[\w-]{43}$/);
    expect(lines[1]).to.equal(`TENANT_JWT_SECRET_PREVIOUS=${KEYS.TENANT_JWT_SECRET}`);
    expect(stderr).to.contain('environment').and.to.contain('restart').and.to.contain('24 hours');
    expect(findInText(stderr, { ...KEYS, fresh: lines[0]?.split('=')[1] ?? '' })).to.deep.equal([]);
    const refused = await admin(['drop-previous-key', '--family', 'tenant'], env);
    expect(refused.code).to.equal(1);
  });
});
