import { expect } from 'chai';
import { effectiveConfig, variables } from '../../infrastructure/config/listing.ts';
import { misspelledVariables } from '../../infrastructure/config/misspelled-variables.ts';
import { environment } from '../../infrastructure/config/variables.ts';
import { ConfigError, readConfig } from '../../infrastructure/config.ts';

describe('The list of variables', () => {
  it('describes every variable, and none shares the description of another schema', () => {
    const listed = variables();
    expect(listed.map(({ name }) => name)).to.deep.equal(Object.keys(environment.shape));
    expect(listed.find(({ name }) => name === 'TENANT_JWT_SECRET')?.meaning).to.contain('people');
    expect(new Set(listed.map(({ meaning }) => meaning)).size).to.equal(listed.length);
  });

  it('writes defaults as the environment takes them', () => {
    const defaults = variables().flatMap(({ name, fallback }) =>
      fallback === undefined ? [] : [[name, fallback]],
    );
    expect(readConfig(Object.fromEntries(defaults))).to.deep.equal(readConfig({}));
  });

  it('marks every variable that holds a secret', () => {
    const secrets = variables().filter(({ name }) => /SECRET$|SECRET_|PASSWORD|TOKEN|_KEY$/.test(name));
    const shown = secrets.filter(({ isSecret, name }) => !isSecret && name !== 'WEBHOOK_SECRET_GRACE_HOURS');
    expect(shown).to.deep.equal([]);
  });
});

describe('The configuration in force', () => {
  it('shows values and defaults, and masks secrets and credentials in addresses', () => {
    const lines = effectiveConfig({
      PORT: '4000',
      MASTER_KEY: 'hush-hush',
      MONGODB_URL: 'mongodb://ann:hush@a:1,b:2/x?replicaSet=rs0&proxyPassword=hush&tls=true',
      EVENTSTORE_URL: 'esdb://ann:hu@sh@host:2113?tls=false',
      AUDIT_HEADS: 'https://heads.test/in?token=hush',
    });
    expect(lines).to.include.members([
      'PORT=4000',
      '# HOST=127.0.0.1',
      'MASTER_KEY=***',
      'MONGODB_URL=mongodb://***@a:1,b:2/x?replicaSet=rs0&proxyPassword=***&tls=true',
      'EVENTSTORE_URL=esdb://***@host:2113?tls=false',
      'AUDIT_HEADS=https://heads.test/in?token=***',
      '# KEYSTORE_URL: beside the read models',
    ]);
    expect(lines.join('\n')).not.to.contain('hush');
  });
});

describe('Names of variables', () => {
  it('that are nearly right are found, in upper or lower case', () => {
    const found = misspelledVariables({
      RATE_LIMIT_PER_MINUT: '1',
      data_dir: '/srv',
      PORTS: '1',
      WEBHOOKS_TIMEOUT_MS: '1',
    });
    expect(found.map(({ variable, meant }) => `${variable} ${meant}`)).to.deep.equal([
      'RATE_LIMIT_PER_MINUT RATE_LIMIT_PER_MINUTE',
      'data_dir DATA_DIR',
      'PORTS PORT',
      'WEBHOOKS_TIMEOUT_MS WEBHOOK_TIMEOUT_MS',
    ]);
  });

  it('of other programs are not reported', () => {
    const names = [
      'HOME',
      'HOSTNAME',
      'PATH',
      'PWD',
      'USER',
      'TERM',
      'SHELL',
      'LANG',
      'LOGNAME',
      'NODE_OPTIONS',
    ];
    const others = [...names, ...Object.keys(environment.shape)];
    expect(misspelledVariables(Object.fromEntries(others.map((name) => [name, 'x'])))).to.deep.equal([]);
  });
});

describe('A wrong configuration', () => {
  it('names every missing and wrong variable at once, with one sentence each and no value', () => {
    const read = (): unknown =>
      readConfig({
        NODE_ENV: 'production',
        PORT: 'hush',
        ROLE: 'boss',
        MASTER_KEY: 'short',
        PLATFORM_ADMIN_EMAIL: 'a@b.test',
      });
    expect(read)
      .to.throw(ConfigError)
      .with.property('message')
      .that.satisfies((message: string) => {
        expect(message.split('\n')).to.deep.equal([
          'PORT must be a whole number from 0 to 65535.',
          'ROLE must be api, worker or all.',
          'MASTER_KEY must have at least 32 bytes.',
          'TENANT_JWT_SECRET must be set in production.',
          'PLATFORM_JWT_SECRET must be set in production.',
          'PARTNER_JWT_SECRET must be set in production.',
          'PARTNER_EXCHANGE_SECRET must be set in production.',
          'PLATFORM_ADMIN_EMAIL and PLATFORM_ADMIN_PASSWORD must be set together.',
        ]);
        return true;
      });
  });
});
