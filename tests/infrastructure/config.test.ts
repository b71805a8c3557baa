import { expect } from 'chai';
import { ConfigError, readConfig } from '../../infrastructure/config.ts';

const secret = (name: string): string => `${name}-`.padEnd(32, 'x');

const PRODUCTION: Readonly<Record<string, string>> = {
  NODE_ENV: 'production',
  TENANT_JWT_SECRET: secret('t'),
  PLATFORM_JWT_SECRET: secret('p'),
  PARTNER_JWT_SECRET: secret('r'),
  PARTNER_EXCHANGE_SECRET: secret('e'),
  MASTER_KEY: secret('m'),
};

describe('The configuration', () => {
  it('has the documented defaults', () => {
    expect(readConfig({ HOME: '/root', PORT: '' })).to.deep.equal({
      NODE_ENV: 'development',
      PORT: 3000,
      HOST: '127.0.0.1',
      DATA_DIR: './data',
      ROLE: 'all',
      WORKERS: 1,
      DEMO: true,
      LOG_LEVEL: 'info',
      REQUEST_LOG_PER_SECOND: 100,
      RATE_LIMIT_PER_MINUTE: 600,
      LOGIN_LIMIT_PER_MINUTE: 10,
      WEBHOOK_ALLOWED_NETWORKS: [],
      WEBHOOK_ALLOW_HTTP: false,
      SSO_ALLOWED_NETWORKS: [],
      BULK_GIVE_UP_SECONDS: 900,
      CORS_ORIGINS: [],
      AUDIT_HEADS_ALLOWED_NETWORKS: [],
      WEBHOOK_RETRY_SECONDS: [60, 300, 1800, 7200],
      WEBHOOK_TIMEOUT_MS: 10_000,
      WEBHOOK_SECRET_GRACE_HOURS: 24,
      ASSISTANT_TIMEOUT_MS: 30_000,
      EMBEDDING_MODEL: 'bundled',
      OTEL_EXPORTER_OTLP_TIMEOUT: 10_000,
      OTEL_SERVICE_NAME: 'workflow-platform',
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      OTEL_TRACES_SAMPLER_ARG: 1,
      OTEL_BSP_SCHEDULE_DELAY: 5000,
      OTEL_SDK_DISABLED: false,
    });
  });

  it('accepts only an origin as the public address', () => {
    const read = (PUBLIC_URL: string) => readConfig({ PUBLIC_URL }).PUBLIC_URL;
    expect(read('https://Platform.example/')).to.equal('https://platform.example');
    expect(read('http://localhost:8080')).to.equal('http://localhost:8080');
    for (const wrong of [
      'platform.example',
      'ftp://x',
      'https://x/path',
      'https://u:p@x',
      'https://x/?y',
      'https://x/#y',
    ]) {
      expect(() => read(wrong), wrong).to.throw(ConfigError, /^PUBLIC_URL must be/);
    }
  });

  it('reads the origins of pages that may call the API', () => {
    expect(readConfig({}).CORS_ORIGINS).to.deep.equal([]);
    expect(
      readConfig({ CORS_ORIGINS: 'https://a.example, http://localhost:5173' }).CORS_ORIGINS,
    ).to.deep.equal(['https://a.example', 'http://localhost:5173']);
  });

  it('parses typed values', () => {
    const found = readConfig({
      PORT: '0',
      DEMO: '0',
      RATE_LIMIT_PER_MINUTE: '0',
      TRUST_PROXY: '2',
      WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/8, fd00::/8',
      WEBHOOK_ALLOW_HTTP: '1',
      WEBHOOK_RETRY_SECONDS: '0.1,0.2, 1,2',
      MONGODB_URL: 'mongodb+srv://u:p@db.test/x',
      KEYSTORE_URL: '/srv/keys',
      AUDIT_HEADS: 'https://heads.example',
      AUDIT_SIGNING_KEY: Buffer.alloc(32, 1).toString('base64'),
      EVENTSTORE_URL:
        'esdb+discover://u:p%40ss@a:2113,b.test:2113/?tls=true&tls_ca_file=%2Fsrv%2Fca&keepAliveInterval=-1',
    });
    expect(found).to.deep.include({
      PORT: 0,
      DEMO: false,
      RATE_LIMIT_PER_MINUTE: 0,
      TRUST_PROXY: 2,
      WEBHOOK_ALLOWED_NETWORKS: ['10.0.0.0/8', 'fd00::/8'],
      WEBHOOK_ALLOW_HTTP: true,
      WEBHOOK_RETRY_SECONDS: [0.1, 0.2, 1, 2],
    });
    expect(readConfig({ TRUST_PROXY: 'true' }).TRUST_PROXY).to.equal(true);
    expect(readConfig({ TRUST_PROXY: 'loopback, 10.0.0.0/8' }).TRUST_PROXY).to.equal('loopback, 10.0.0.0/8');
  });

  it('requires its secrets in production, where the demo is off by default', () => {
    expect(readConfig(PRODUCTION).DEMO).to.equal(false);
    expect(readConfig({ ...PRODUCTION, DEMO: '1' }).DEMO).to.equal(true);
    for (const name of Object.keys(PRODUCTION).filter((key) => key !== 'NODE_ENV')) {
      expect(() => readConfig({ ...PRODUCTION, [name]: undefined }))
        .to.throw(ConfigError)
        .with.property('message', `${name} must be set in production.`);
    }
  });

  const bad: readonly (readonly [string, string])[] = [
    ['PORT', '70000'],
    ['PORT', '80a'],
    ['NODE_ENV', 'staging-secret'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x-api-key'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x-api-key=a%0d%0ab: c'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a b=c'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'https://app.example/'],
    ['CORS_ORIGINS', 'https://app.example,'],
    ['CORS_ORIGINS', 'app.example'],
    ['CORS_ORIGINS', 'null'],
    ['CORS_ORIGINS', 'https://App.example'],
    ['CORS_ORIGINS', 'https://u:hush@app.example'],
    ['CORS_ORIGINS', 'ftp://app.example'],
    ['CORS_ORIGINS', 'https://app.example:443'],
    ['ROLE', 'boss'],
    ['DEMO', 'perhaps'],
    ['LOG_LEVEL', 'loud'],
    ['EVENTSTORE_URL', 'http://host-hush'],
    ['MONGODB_URL', 'postgres://u:hush@db'],
    ['EVENTSTORE_URL', 'esdb://'],
    ['EVENTSTORE_URL', 'esdb://u:hush@h:99999'],
    ['EVENTSTORE_URL', 'esdb://u:hu@sh@h'],
    ['EVENTSTORE_URL', 'esdb://hush@h'],
    ['EVENTSTORE_URL', 'esdb://u:hush@h?tls=maybe'],
    // The error of the EventStoreDB client contains the whole string with the password.
    ['EVENTSTORE_URL', 'esdb://u:hush@h?tsl=true'],
    ['EVENTSTORE_URL', 'esdb://u:hush@h?tls=true&tlsVerifyCert=false'],
    ['EVENTSTORE_URL', 'esdb://u:hush@h?tls=false&throw_on_append_failure=false'],
    ['EVENTSTORE_URL', 'esdb://u:hush@h?keepAliveInterval=soon'],
    ['MONGODB_URL', 'mongodb://'],
    ['MONGODB_URL', 'mongodb://u:hush@/db'],
    ['MONGODB_URL', 'mongodb://u:hush@h:99999/db'],
    ['MONGODB_URL', 'mongodb://u:hu%zzsh@h/db'],
    ['MONGODB_URL', 'mongodb://u:p@h/db?replicSet=hush'],
    ['MONGODB_URL', 'mongodb://u:p@h/db?authMechanism=hush'],
    ['MONGODB_URL', 'mongodb://u:p@h/db?maxPoolSize=hush'],
    ['KEYSTORE_URL', 'mongodb://u:hush@h:99999/db'],
    ['KEYSTORE_URL', 'mongodb-keys'],
    ['KEYSTORE_URL', 'postgres://u:hush@db'],
    ['KEYSTORE_URL', 'mongodb://'],
    ['AUDIT_HEADS', 'ftp://u:hush@heads.example'],
    ['AUDIT_HEADS', 'https://u:hush@heads.example'],
    ['ASSISTANT_BASE_URL', 'https://u:hush@models.example/v1'],
    ['ASSISTANT_API_KEY', 'hush hush'],
    ['TRUST_PROXY', '0.0.0.0/0'],
    ['WEBHOOK_RETRY_SECONDS', `1,2,3,${'9'.repeat(400)}`],
    ['WEBHOOK_RETRY_SECONDS', '1,2,3,2592001'],
    ['WEBHOOK_SECRET_GRACE_HOURS', '9999999999'],
    ['AUDIT_SIGNING_KEY', 'hush'],
    ['TRUST_PROXY', 'everyone'],
    ['TENANT_JWT_SECRET', 'short-hush'],
    ['MASTER_KEY', 'short-hush'],
    ['TENANT_JWT_SECRET_PREVIOUS', 'short-hush'],
    ['PARTNER_EXCHANGE_SECRET_PREVIOUS', 'short-hush'],
    ['PLATFORM_JWT_SECRET_NEXT', 'short-hush'],
    ['PLATFORM_ADMIN_EMAIL', 'nobody'],
    ['PLATFORM_ADMIN_PASSWORD', 'hush'],
    ['RATE_LIMIT_PER_MINUTE', '-1'],
    ['LOGIN_LIMIT_PER_MINUTE', '1.5'],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.0/33'],
    ['WEBHOOK_ALLOWED_NETWORKS', 'example.com'],
    ['WEBHOOK_ALLOWED_NETWORKS', 'fe80::1%eth0/64'],
    ['SSO_ALLOWED_NETWORKS', '10.0.0.0'],
    ['WEBHOOK_ALLOW_HTTP', 'yes'],
    ['BULK_GIVE_UP_SECONDS', '0'],
    ['WEBHOOK_RETRY_SECONDS', '60,300'],
    ['WEBHOOK_TIMEOUT_MS', '0'],
    ['WEBHOOK_SECRET_GRACE_HOURS', '-2'],
    ['ASSISTANT_BASE_URL', 'ftp://x.test'],
    ['ASSISTANT_TIMEOUT_MS', 'soon'],
    ['EMBEDDING_MODEL', 'other'],
    ['BILLING_UPSTREAM_URL', 'hush'],
    ['BILLING_UPSTREAM_URL', 'https://north:hush@billing.test/invoices'],
    ['BILLING_UPSTREAM_TOKEN', 'two words'],
    ['BILLING_UPSTREAM_TOKEN', 'hush\n'],
  ];
  for (const [name, value] of bad) {
    it(`refuses ${name}=${value} in one sentence without the value`, () => {
      expect(() => readConfig({ [name]: value }))
        .to.throw(ConfigError)
        .with.property('message')
        .that.matches(new RegExp(`^${name} must [^\\n]+\\.$`))
        .and.does.not.contain(value.includes('hush') ? 'hush' : ` ${value} `);
    });
  }

  it('requires both variables of the platform admin, and a different secret for each family', () => {
    expect(() => readConfig({ PLATFORM_ADMIN_EMAIL: 'a@b.test' })).to.throw('PLATFORM_ADMIN_PASSWORD');
    const shared = { ...PRODUCTION, PLATFORM_JWT_SECRET: PRODUCTION.TENANT_JWT_SECRET };
    expect(() => readConfig(shared)).to.throw('PLATFORM_JWT_SECRET must differ from TENANT_JWT_SECRET.');
  });

  it('accepts a previous and a next secret of each family, and requires that all secrets differ', () => {
    const families = ['TENANT_JWT', 'PLATFORM_JWT', 'PARTNER_JWT', 'PARTNER_EXCHANGE'];
    for (const previous of families.flatMap((name) => [`${name}_SECRET_PREVIOUS`, `${name}_SECRET_NEXT`])) {
      expect(readConfig({ ...PRODUCTION, [previous]: secret('old') })).to.have.property(
        previous,
        secret('old'),
      );
      for (const other of Object.keys(PRODUCTION).filter((key) => key !== 'NODE_ENV')) {
        expect(() => readConfig({ ...PRODUCTION, [previous]: PRODUCTION[other] })).to.throw(
          `${previous} must differ from ${other}.`,
        );
      }
    }
    for (const other of ['PARTNER_JWT_SECRET_PREVIOUS', 'TENANT_JWT_SECRET_NEXT']) {
      const twins = { TENANT_JWT_SECRET_PREVIOUS: secret('old'), [other]: secret('old') };
      expect(() => readConfig({ ...PRODUCTION, ...twins })).to.throw('must differ');
    }
  });
});
