import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { admin } from '../../support/admin-cli.ts';
import { findInText } from '../../support/files.ts';
import { KEYS, newDataFolder } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';

type Secret = keyof typeof KEYS;

/** Commands that open data, each with the one secret that it uses, if any. */
const COMMANDS: readonly { readonly args: readonly string[]; readonly uses?: Secret }[] = [
  { args: ['verify-data', '--no-read-models'], uses: 'MASTER_KEY' },
  { args: ['create-platform-admin', '--email', 'grace@platform.example'], uses: 'MASTER_KEY' },
  { args: ['set-platform-admin-password', '--email', 'Root@Platform.example'], uses: 'MASTER_KEY' },
  { args: ['rotate-key', '--family', 'tenant'], uses: 'TENANT_JWT_SECRET' },
  { args: ['rotate-key', '--family', 'platform', '--prepare'], uses: 'PLATFORM_JWT_SECRET' },
  { args: ['rotate-key', '--family', 'exchange'], uses: 'PARTNER_EXCHANGE_SECRET' },
  { args: ['compare-read-models', '--projection', 'users'] },
];

/** A command requires only the secrets that it uses, and names a missing one. */
describe('The secrets of the admin commands', function () {
  this.timeout(240_000);
  let world: World;
  let dataDir: string;

  before(async () => {
    world = await startWorld();
    dataDir = world.server.dataDir;
    await world.tenant();
  });
  after(endWorld);

  const run = (args: readonly string[], env: Readonly<Record<string, string>>) =>
    admin(args, { DATA_DIR: dataDir, ...env }, 'a-new-password\n', 60_000);
  const only = (name: Secret | undefined) => (name === undefined ? {} : { [name]: KEYS[name] });
  const without = (name: Secret) => Object.fromEntries(Object.entries(KEYS).filter(([key]) => key !== name));

  for (const NODE_ENV of ['production', 'development']) {
    for (const { args, uses } of COMMANDS) {
      it(`${args.join(' ')} in ${NODE_ENV}: ${uses ?? 'an empty set of secrets'} is enough`, async () => {
        const own = NODE_ENV === 'production' ? args : args.map((arg) => arg.replace('grace@', 'alan@'));
        const { code, stderr } = await run(own, { ...only(uses), NODE_ENV });
        expect(code, stderr).to.equal(0);
        expect(findInText(stderr, KEYS)).to.deep.equal([]);
        expect(existsSync(join(dataDir, 'development-secrets.json')), 'secrets were made').to.equal(false);
      });
    }
  }

  for (const { args, uses } of COMMANDS) {
    if (uses === undefined) continue;
    it(`${args.join(' ')} without ${uses} in production: the error names that secret`, async () => {
      const { code, stdout, stderr } = await run(args, { ...without(uses), NODE_ENV: 'production' });
      expect([code, stdout]).to.deep.equal([1, '']);
      const named = Object.keys(KEYS).filter((name) => stderr.includes(name));
      expect(named, stderr).to.deep.equal([uses]);
    });
  }

  it('a backup needs no secret, and names the one to keep', async () => {
    const folder = await newDataFolder();
    const to = ['--to', join(folder, 'data'), '--keys-to', join(folder, 'keys')];
    const { code, stderr } = await run(['backup', ...to], { NODE_ENV: 'production' });
    expect(code, stderr).to.equal(0);
    expect(stderr).to.contain('Not in the backup: MASTER_KEY.');
  });

  it('an assertion needs only the exchange secret', async () => {
    const args = ['mint-partner-assertion', '--partner', 'acme', '--email', 'nora@partner.example'];
    const minted = await run(args, only('PARTNER_EXCHANGE_SECRET'));
    expect(minted.code, minted.stderr).to.equal(0);
    expect(minted.stdout).to.match(/^ey/);
    const refused = await run(args, without('PARTNER_EXCHANGE_SECRET'));
    expect([refused.code, refused.stdout]).to.deep.equal([1, '']);
    expect(refused.stderr).to.contain('PARTNER_EXCHANGE_SECRET');
  });
});
