import { expect } from 'chai';
import { mintPartnerAssertion as mintAssertion } from '../../../api/admin/assertion.ts';
import { type AdminCommand, Refusal } from '../../../api/admin/command.ts';
import { rotateKey } from '../../../api/admin/keys.ts';
import { createPlatformAdmin } from '../../../api/admin/platform-admins.ts';
import { admin } from '../../support/admin-cli.ts';
import { findIn, findInText } from '../../support/files.ts';
import { EXCHANGE, exchanged, newPartner, PORTAL, session } from '../../support/partners.ts';
import { eventually, KEYS, newDataFolder, ROOT } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';

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
    }
    const own = await admin(['rotate-key', '--help'], env);
    expect([own.code, own.stdout.includes('rotate-key')]).to.deep.equal([0, true]);
    expect(own.stdout).not.to.contain('create-platform-admin');
    for (const args of [
      [],
      ['nonsense'],
      ['create-platform-admin', '--email', 'a@b.example', '--password', 'hush-hush-hush'],
    ]) {
      const { code, stdout, stderr } = await admin(args, env, 'the-password-given\n');
      expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
      expect(stderr).not.to.equal('');
      expect(stderr)
        .not.to.contain('hush')
        .and.not.to.match(/\n\s+at /);
    }
  }).timeout(40_000);

  it('refuses invalid arguments without repeating them', async () => {
    const refused: readonly (readonly [AdminCommand, readonly string[]])[] = [
      [rotateKey, []],
      [rotateKey, ['--family', 'master']],
      [createPlatformAdmin, []],
      [createPlatformAdmin, ['--email', 'nobody']],
      [createPlatformAdmin, ['--email', 'a@b.example', 'hush-hush-hush']],
      [mintAssertion, ['--partner', 'No Slug', '--email', 'a@b.example']],
    ];
    for (const [command, args] of refused) {
      const refusal = await command.run(args).then(
        () => expect.fail(`${command.name} ${args.join(' ')} was accepted`),
        (error: unknown) => error,
      );
      expect(refusal).to.be.instanceOf(Refusal).and.to.have.property('exitCode', 2);
      for (const value of ['hush', 'nobody', 'master', 'No Slug'])
        expect(String(refusal)).not.to.contain(value);
    }
  });

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
});
