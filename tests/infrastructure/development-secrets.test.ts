import { fork } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ConfigError, readConfig } from '../../infrastructure/config.ts';
import {
  dropStored,
  knownSecret,
  masterKeyOf,
  rotateStored,
  secretsOf,
  signingSecrets,
} from '../../infrastructure/development-secrets.ts';

const FILE = 'development-secrets.json';

describe('Development secrets', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const config = (own: Record<string, string> = {}) => readConfig({ DATA_DIR: folder, ...own });
  const long = (name: string): string => name.padEnd(32, '-');

  it('are created once, readable by the owner only, without temporary files', () => {
    expect(knownSecret(config(), 'MASTER_KEY')).to.equal(undefined);
    expect(masterKeyOf(config({ MASTER_KEY: long('mine') }))).to.equal(long('mine'));
    expect(readdirSync(folder)).to.deep.equal([]);
    const first = secretsOf(config());
    expect(secretsOf(config())).to.deep.equal(first);
    for (const name of ['MASTER_KEY', 'PARTNER_EXCHANGE_SECRET'] as const) {
      expect(knownSecret(config(), name)).to.equal(first[name]);
      expect(knownSecret(config({ [name]: long('mine') }), name)).to.equal(long('mine'));
    }
    expect(masterKeyOf(config())).to.equal(first.MASTER_KEY);
    expect(readdirSync(folder)).to.deep.equal([FILE]);
    expect(statSync(join(folder, FILE)).mode & 0o777).to.equal(0o600);
    expect(new Set(Object.values(first)).size).to.equal(5);
    for (const secret of Object.values(first)) expect(Buffer.byteLength(secret ?? '')).to.be.at.least(32);
  });

  it('are the same for processes that start concurrently', async () => {
    const child = join(folder, 'child.ts');
    const from = (path: string): string =>
      JSON.stringify(join(import.meta.dirname, '../../infrastructure', path));
    writeFileSync(
      child,
      `import { readConfig } from ${from('config.ts')};
       import { secretsOf } from ${from('development-secrets.ts')};
       process.on('message', () => {
         process.send(JSON.stringify(secretsOf(readConfig({ DATA_DIR: ${JSON.stringify(folder)} }))));
         process.disconnect();
       });
       process.send('ready');`,
    );
    const children = Array.from({ length: 5 }, () => fork(child, { stdio: 'ignore' }));
    const next = (one: (typeof children)[number]) =>
      new Promise<unknown>((resolve, reject) => one.once('message', resolve).once('error', reject));
    try {
      await Promise.all(children.map(next));
      const answers = children.map(next);
      for (const one of children) one.send('go');
      expect(new Set(await Promise.all(answers)).size).to.equal(1);
    } finally {
      for (const one of children) one.kill('SIGKILL');
    }
    expect(readdirSync(folder).sort()).to.deep.equal(['child.ts', FILE]);
  });

  it('rotate: the current secret becomes the previous secret, which is then dropped', () => {
    const first = secretsOf(config());
    expect(rotateStored(config(), 'TENANT_JWT_SECRET')).to.equal('made');
    const second = secretsOf(config());
    const fresh = second.TENANT_JWT_SECRET;
    expect(second).to.deep.equal({
      ...first,
      TENANT_JWT_SECRET: fresh,
      TENANT_JWT_SECRET_PREVIOUS: first.TENANT_JWT_SECRET,
    });
    expect(fresh).not.to.equal(first.TENANT_JWT_SECRET);
    expect(signingSecrets(second, 'TENANT_JWT_SECRET')).to.deep.equal([fresh, first.TENANT_JWT_SECRET]);
    expect(signingSecrets(second, 'PARTNER_JWT_SECRET')).to.deep.equal([first.PARTNER_JWT_SECRET]);
    dropStored(config(), 'TENANT_JWT_SECRET');
    expect(secretsOf(config())).not.to.have.property('TENANT_JWT_SECRET_PREVIOUS');
    expect(statSync(join(folder, FILE)).mode & 0o777).to.equal(0o600);
    expect(readdirSync(folder)).to.deep.equal([FILE]);
  });

  it('rotate in two steps: the prepared secret verifies, then signs, and the former secret still verifies', () => {
    const first = secretsOf(config());
    expect(rotateStored(config(), 'TENANT_JWT_SECRET', 'prepare')).to.equal('prepared');
    const second = secretsOf(config());
    const fresh = second.TENANT_JWT_SECRET_NEXT ?? '';
    expect(second).to.deep.equal({ ...first, TENANT_JWT_SECRET_NEXT: fresh });
    expect(signingSecrets(second, 'TENANT_JWT_SECRET')).to.deep.equal([first.TENANT_JWT_SECRET, fresh]);
    expect(rotateStored(config(), 'TENANT_JWT_SECRET')).to.equal('exchanged');
    const third = secretsOf(config());
    expect(third).to.deep.equal({
      ...first,
      TENANT_JWT_SECRET: fresh,
      TENANT_JWT_SECRET_PREVIOUS: first.TENANT_JWT_SECRET,
    });
    dropStored(config(), 'TENANT_JWT_SECRET');
    expect(secretsOf(config())).to.deep.equal({ ...first, TENANT_JWT_SECRET: fresh });
  });

  it('keep a secret that servers may sign with, unless forced', () => {
    const first = secretsOf(config());
    rotateStored(config(), 'TENANT_JWT_SECRET');
    const second = secretsOf(config());
    for (const step of ['rotate', 'prepare'] as const) {
      expect(() => rotateStored(config(), 'TENANT_JWT_SECRET', step))
        .to.throw(ConfigError)
        .with.property('message')
        .that.contains('TENANT_JWT_SECRET_PREVIOUS')
        .and.contains('--force');
      expect(secretsOf(config())).to.deep.equal(second);
    }
    expect(rotateStored(config(), 'TENANT_JWT_SECRET', 'rotate', true)).to.equal('made');
    const forced = secretsOf(config());
    expect(forced.TENANT_JWT_SECRET_PREVIOUS).to.equal(second.TENANT_JWT_SECRET);
    expect(Object.values(forced)).not.to.include(first.TENANT_JWT_SECRET);
  });

  it('are prepared once, unless forced, and can be dropped', () => {
    const first = secretsOf(config());
    rotateStored(config(), 'PARTNER_JWT_SECRET', 'prepare');
    const next = secretsOf(config()).PARTNER_JWT_SECRET_NEXT;
    expect(() => rotateStored(config(), 'PARTNER_JWT_SECRET', 'prepare')).to.throw(
      ConfigError,
      'PARTNER_JWT_SECRET_NEXT',
    );
    expect(secretsOf(config()).PARTNER_JWT_SECRET_NEXT).to.equal(next);
    expect(rotateStored(config(), 'PARTNER_JWT_SECRET', 'prepare', true)).to.equal('prepared');
    expect(secretsOf(config()).PARTNER_JWT_SECRET_NEXT).not.to.equal(next);
    dropStored(config(), 'PARTNER_JWT_SECRET');
    expect(secretsOf(config())).to.deep.equal(first);
  });

  it('are not rotated before they exist, or during another rotation', () => {
    expect(() => rotateStored(config(), 'TENANT_JWT_SECRET')).to.throw(ConfigError);
    secretsOf(config());
    const before = readFileSync(join(folder, FILE), 'utf8');
    writeFileSync(join(folder, `${FILE}.lock`), '');
    expect(() => rotateStored(config(), 'TENANT_JWT_SECRET'))
      .to.throw(ConfigError)
      .with.property('message');
    expect(readFileSync(join(folder, FILE), 'utf8')).to.equal(before);
  });

  it('give precedence to the environment, which then decides on previous secrets too', () => {
    const first = secretsOf(config());
    rotateStored(config(), 'TENANT_JWT_SECRET');
    rotateStored(config(), 'PLATFORM_JWT_SECRET', 'prepare');
    rotateStored(config(), 'PARTNER_JWT_SECRET');
    expect(
      signingSecrets(secretsOf(config({ PLATFORM_JWT_SECRET: long('my own') })), 'PLATFORM_JWT_SECRET'),
    ).to.deep.equal([long('my own')]);
    const own = secretsOf(config({ TENANT_JWT_SECRET: long('mine') }));
    expect(signingSecrets(own, 'TENANT_JWT_SECRET')).to.deep.equal([long('mine')]);
    expect(signingSecrets(own, 'PARTNER_JWT_SECRET')[1]).to.equal(first.PARTNER_JWT_SECRET);
    const both = secretsOf(
      config({ TENANT_JWT_SECRET: long('mine'), TENANT_JWT_SECRET_PREVIOUS: long('old') }),
    );
    expect(signingSecrets(both, 'TENANT_JWT_SECRET')).to.deep.equal([long('mine'), long('old')]);
  });

  it('are refused when the environment repeats a secret of the folder', () => {
    const { MASTER_KEY } = secretsOf(config());
    expect(() => secretsOf(config({ TENANT_JWT_SECRET_PREVIOUS: MASTER_KEY })))
      .to.throw(ConfigError)
      .with.property('message')
      .that.contains('must differ')
      .and.does.not.contain(MASTER_KEY);
  });
});
