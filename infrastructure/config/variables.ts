import { z } from 'zod';
import { isEd25519Key, KEY_FORMS } from '../ed25519-key.ts';
import {
  bearer,
  calledUrl,
  flag,
  folderOrUrl,
  fourDelays,
  httpUrl,
  networks,
  number,
  oneOf,
  origin,
  origins,
  pairs,
  secret,
  text,
  trustProxy,
  whole,
} from './kinds.ts';
import { esdbUrl, mongoUrl, mongoUrlOrFolder } from './store-urls.ts';

/** Describes a variable in `docs/configuration.md`, `.env.example` and `admin config`. */
export interface About {
  readonly meaning: string;
  readonly unit?: string;
  /** Describes the behaviour without the variable, if the schema has no default. */
  readonly unset?: string;
  /** The value is never printed. */
  readonly isSecret?: true;
}

/** Descriptions of the variables, by schema. */
export const about = z.registry<About>();

const signing = (what: string) =>
  secret().register(about, {
    meaning: `signs ${what}; at least 32 bytes`,
    unset: 'generated in development, required in production',
    isSecret: true,
  });
const previous = (name: string) =>
  secret().register(about, { meaning: `the previous \`${name}\`, which still verifies`, isSecret: true });
const next = (name: string) =>
  secret().register(about, { meaning: `the next \`${name}\`, which verifies already`, isSecret: true });

/** Every variable, in the order of the documentation. */
export const environment = z.object({
  NODE_ENV: oneOf('development', 'production', 'test').default('development').register(about, {
    meaning: '`production` requires all secrets, creates no demo, and refuses commands for development',
  }),
  PORT: whole(0, 65_535, 3_000).register(about, { meaning: 'port of the API; `0`: any free one' }),
  HOST: z.string().default('127.0.0.1').register(about, {
    meaning: 'address of the API; `0.0.0.0`: every address of the machine',
  }),
  DATA_DIR: z.string().default('./data').register(about, {
    meaning:
      'folder of the embedded stores and development secrets; created so that only its owner can read it',
  }),
  PUBLIC_URL: origin.optional().register(about, {
    meaning: 'scheme, host and port by which browsers reach the API, such as `https://platform.example`',
    unset: 'the address that the client used',
  }),
  CORS_ORIGINS: origins.register(about, {
    meaning:
      'origins whose pages may call the API and open its WebSocket, such as `https://app.example,http://localhost:5173`; no `*`',
  }),
  ROLE: oneOf('api', 'worker', 'all').default('all').register(about, {
    meaning: '`api` serves requests, `worker` folds read models and runs subscribers, `all` does both',
  }),
  WORKERS: whole(1, 64, 1).register(about, {
    meaning: 'number of processes that share the port and the embedded stores; each uses a core',
    unit: 'processes',
  }),
  DEMO: flag.optional().register(about, {
    meaning: 'creates a demo tenant and a platform admin in an empty store',
    unset: '1, in production 0',
  }),
  TRUST_PROXY: trustProxy.optional().register(about, {
    meaning:
      'trusted proxies, as Express’s `trust proxy`: `true`, their number, or their addresses and networks',
  }),
  LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')
    .default('info')
    .register(about, { meaning: 'lowest level of the log; `warn` leaves out requests' }),
  REQUEST_LOG_PER_SECOND: whole(0, 1_000_000, 100).register(about, {
    meaning: 'maximum of requests that are logged; the next line has the number of `skipped` ones',
    unit: 'lines per second',
  }),
  BUILD_REVISION: text().register(about, {
    meaning: 'revision of the sources, shown by `GET /version`; the image sets it',
  }),
  EVENTSTORE_URL: esdbUrl().register(about, {
    meaning: 'EventStoreDB connection string',
    unset: 'SQLite in `DATA_DIR`',
  }),
  MONGODB_URL: mongoUrl().register(about, {
    meaning: 'MongoDB connection string',
    unset: 'SQLite in `DATA_DIR`',
  }),
  KEYSTORE_URL: mongoUrlOrFolder().register(about, {
    meaning: 'store of the data keys: a folder or a MongoDB connection string',
    unset: 'beside the read models',
  }),
  PLATFORM_ADMIN_EMAIL: z.email('must be an e-mail address').optional().register(about, {
    meaning: 'e-mail of the first platform admin; set together with the password',
  }),
  PLATFORM_ADMIN_PASSWORD: z
    .string()
    .refine((value) => [...value].length >= 10 && [...value].length <= 200, 'must have 10 to 200 characters')
    .optional()
    .register(about, {
      meaning: 'password of the first platform admin, 10 to 200 characters',
      isSecret: true,
    }),
  TENANT_JWT_SECRET: signing('sessions of people'),
  PLATFORM_JWT_SECRET: signing('sessions of platform admins'),
  PARTNER_JWT_SECRET: signing('sessions of partners'),
  PARTNER_EXCHANGE_SECRET: signing('assertions of the hosting portal'),
  MASTER_KEY: secret().register(about, {
    meaning: 'wraps the data keys; at least 32 bytes. Without it sealed texts are lost',
    unset: 'generated in development, required in production',
    isSecret: true,
  }),
  TENANT_JWT_SECRET_PREVIOUS: previous('TENANT_JWT_SECRET'),
  PLATFORM_JWT_SECRET_PREVIOUS: previous('PLATFORM_JWT_SECRET'),
  PARTNER_JWT_SECRET_PREVIOUS: previous('PARTNER_JWT_SECRET'),
  PARTNER_EXCHANGE_SECRET_PREVIOUS: previous('PARTNER_EXCHANGE_SECRET'),
  TENANT_JWT_SECRET_NEXT: next('TENANT_JWT_SECRET'),
  PLATFORM_JWT_SECRET_NEXT: next('PLATFORM_JWT_SECRET'),
  PARTNER_JWT_SECRET_NEXT: next('PARTNER_JWT_SECRET'),
  PARTNER_EXCHANGE_SECRET_NEXT: next('PARTNER_EXCHANGE_SECRET'),
  AUDIT_SIGNING_KEY: z.string().refine(isEd25519Key, `must be ${KEY_FORMS}`).optional().register(about, {
    meaning:
      'Ed25519 private key that signs heads: PEM, or base64 of its DER form (PKCS 8) or of its 32 bytes. Without it in production no head is signed and `GET …/audit/proof` answers 503',
    unset: 'generated in development, none in production',
    isSecret: true,
  }),
  AUDIT_HEADS: folderOrUrl().register(about, {
    meaning:
      'folder or URL outside the platform that receives each signed head: a line of JSON in `<tenant>.ndjson`, or a POST answered with 2xx; a head may be sent twice',
  }),
  AUDIT_HEADS_ALLOWED_NETWORKS: networks().register(about, {
    meaning: 'networks that the URL of `AUDIT_HEADS` may be in, besides public addresses over https',
  }),
  RATE_LIMIT_PER_MINUTE: whole(0, 1_000_000_000, 600).register(about, {
    meaning: 'limit for each credential; `0`: no limit',
    unit: 'requests per minute',
  }),
  LOGIN_LIMIT_PER_MINUTE: whole(0, 1_000_000_000, 10).register(about, {
    meaning: 'limit for each client address; `0`: no limit',
    unit: 'logins per minute',
  }),
  BULK_GIVE_UP_SECONDS: whole(1, 86_400, 900).register(about, {
    meaning: 'a bulk commit ends as `errored` after a store was unavailable for this long',
    unit: 'seconds',
  }),
  WEBHOOK_ALLOWED_NETWORKS: networks().register(about, {
    meaning: 'networks such as `10.0.0.0/8,fd00::/8` that webhooks may reach, on every port',
  }),
  WEBHOOK_ALLOW_HTTP: flag.default(false).register(about, {
    meaning: 'allows plain http and port 80 for all webhooks',
  }),
  WEBHOOK_RETRY_SECONDS: fourDelays.default([60, 300, 1_800, 7_200]).register(about, {
    meaning: 'pauses before the four retries of a delivery',
    unit: 'seconds',
  }),
  WEBHOOK_TIMEOUT_MS: whole(1, 600_000, 10_000).register(about, {
    meaning: 'time limit of one attempt, from the DNS look-up to the end of the answer',
    unit: 'ms',
  }),
  WEBHOOK_SECRET_GRACE_HOURS: number(0, 8_760, 24).register(about, {
    meaning: 'how long a rotated secret of a subscription still signs beside the new one',
    unit: 'hours',
  }),
  SSO_ALLOWED_NETWORKS: networks().register(about, {
    meaning: 'networks that identity providers may be in, besides public addresses; always over https',
  }),
  ASSISTANT_BASE_URL: calledUrl().register(about, {
    meaning: 'URL of the assistant’s upstream; ends in `/v1`, any address is allowed',
    unset: 'no assistant',
  }),
  ASSISTANT_API_KEY: bearer().register(about, {
    meaning: 'sent to the upstream as bearer token',
    isSecret: true,
  }),
  ASSISTANT_MODEL: text().register(about, { meaning: 'sent to the upstream as `model`', unset: 'default' }),
  ASSISTANT_TIMEOUT_MS: whole(1, 600_000, 30_000).register(about, {
    meaning: 'time limit of one call of the upstream',
    unit: 'ms',
  }),
  EMBEDDING_MODEL: oneOf('bundled', 'off').default('bundled').register(about, {
    meaning: '`off` runs without a model: retrieval and questions answer 503',
  }),
  BILLING_UPSTREAM_URL: calledUrl().register(about, {
    meaning: 'URL of the billing system that receives issued invoices; any address is allowed',
    unset: 'files in `DATA_DIR`',
  }),
  BILLING_UPSTREAM_TOKEN: bearer().register(about, {
    meaning: 'sent to the billing system as bearer token',
    isSecret: true,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional().register(about, {
    meaning: 'receiver of traces by OTLP over HTTP, such as `http://127.0.0.1:4318`; `/v1/traces` is added',
    unset: 'no traces',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl
    .optional()
    .register(about, { meaning: 'full URL of the receiver, instead of the endpoint above' }),
  OTEL_EXPORTER_OTLP_HEADERS: pairs().register(about, {
    meaning: 'headers sent to the receiver, as `name=value,other=value`',
    isSecret: true,
  }),
  OTEL_EXPORTER_OTLP_TIMEOUT: whole(1, 600_000, 10_000).register(about, {
    meaning: 'time limit of one call of the receiver',
    unit: 'ms',
  }),
  OTEL_SERVICE_NAME: z
    .string()
    .min(1)
    .default('workflow-platform')
    .register(about, { meaning: 'name of the service in traces' }),
  OTEL_RESOURCE_ATTRIBUTES: pairs().register(about, {
    meaning: 'additional attributes of the service, as `name=value,other=value`',
  }),
  OTEL_TRACES_SAMPLER: oneOf(
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
    'always_on',
    'always_off',
    'traceidratio',
  )
    .default('parentbased_always_on')
    .register(about, { meaning: 'which traces are recorded' }),
  OTEL_TRACES_SAMPLER_ARG: number(0, 1, 1).register(about, {
    meaning: 'share of the traces that `…traceidratio` records',
    unit: '0 to 1',
  }),
  OTEL_BSP_SCHEDULE_DELAY: whole(1, 600_000, 5_000).register(about, {
    meaning: 'longest time before a finished span is sent',
    unit: 'ms',
  }),
  OTEL_SDK_DISABLED: flag.default(false).register(about, { meaning: '`true` turns traces off' }),
});

export type Environment = z.output<typeof environment>;
