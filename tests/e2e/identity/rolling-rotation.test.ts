import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { admin } from '../../support/admin-cli.ts';
import { KEYS, newDataFolder, type Server, startServer } from '../../support/server.ts';
import { login } from '../../support/shapes.ts';
import { endWorld, type Member, startWorld, USERS, type World } from '../../support/world.ts';

const { MASTER_KEY: _, ...SIGNING } = KEYS;
const NO_KEYS = Object.fromEntries(Object.keys(SIGNING).map((name) => [name, undefined]));
const PASSWORD = 'the-password-of-ada';
const ME = '/api/v1/tenant/me';

/** Servers restarted one after another have different secrets for a while. */
describe('A rotation in two steps', () => {
  let world: World;
  let other: Server;
  let ada: Member;
  let folder: string;
  /** Tokens of all sign-ins so far: the tests do not know the secrets, so people must sign in. */
  const tokens: string[] = [];

  before(async () => {
    folder = await newDataFolder();
    // The servers keep their signing keys in the folder, and begin with those of the tests.
    await writeFile(join(folder, 'development-secrets.json'), JSON.stringify(KEYS), { mode: 0o600 });
    world = await startWorld({ dataDir: folder, env: NO_KEYS });
    const tenant = await world.tenant();
    ada = await tenant.person('Ada', 'admin');
    await tenant.admin.api.patch(`${USERS}/${ada.id}`, { password: PASSWORD });
    other = await startServer({ dataDir: folder, env: NO_KEYS });
  });
  after(endWorld);

  const restartFirst = async (): Promise<void> => {
    await world.server.stop();
    await world.restart();
  };
  const restartOther = async (): Promise<void> => {
    await other.stop();
    other = await startServer({ dataDir: folder, env: NO_KEYS });
  };
  const rotate = async (...more: string[]): Promise<void> => {
    const ended = await admin(['rotate-key', '--family', 'tenant', ...more], {
      DATA_DIR: folder,
      MASTER_KEY: KEYS.MASTER_KEY,
    });
    expect(ended.code, ended.stderr).to.equal(0);
  };

  /** Signs in at both servers. @returns the statuses of every token so far at both servers */
  const outcomes = async (): Promise<Set<number>> => {
    const person = { email: ada.email, password: PASSWORD, tenant: ada.tenantId };
    for (const at of [world.server, other]) {
      tokens.push((await world.anybody.at(at).post('/auth/login', person)).as(login).token);
    }
    const statuses = new Set<number>();
    for (const token of tokens) {
      for (const at of [world.server, other]) {
        statuses.add((await world.anybody.with(token).at(at).get(ME)).status);
      }
    }
    return statuses;
  };
  const allAccepted = async (when: string): Promise<void> => {
    expect([...(await outcomes())], when).to.deep.equal([200]);
  };

  it('causes no refusal: both nodes accept each other’s tokens at each moment', async () => {
    await allAccepted('before');
    await rotate('--prepare');
    await restartFirst();
    await allAccepted('one of two knows the prepared key');
    await restartOther();
    await allAccepted('both know the prepared key');
    await rotate();
    await restartFirst();
    await allAccepted('one of two signs with the new key');
    await restartOther();
    await allAccepted('both sign with the new key');

    const { code } = await admin(['drop-previous-key', '--family', 'tenant'], {
      DATA_DIR: folder,
      MASTER_KEY: KEYS.MASTER_KEY,
    });
    expect(code).to.equal(0);
    await restartFirst();
    const [oldest, newest] = [tokens[0] ?? '', tokens.at(-1) ?? ''];
    const status = async (token: string) => (await world.anybody.with(token).get(ME)).status;
    expect([await status(oldest), await status(newest)], 'the keys did change').to.deep.equal([401, 200]);
  }).timeout(120_000);
});
