import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import type { z } from 'zod';
import { CommandHandler } from '../../application/core/commands/command-handler.ts';
import { StreamStates } from '../../application/core/commands/stream-states.ts';
import { Streams } from '../../application/core/commands/streams.ts';
import { BackgroundScheduler } from '../../application/core/concurrency/background-scheduler.ts';
import { withCoalescedCalls } from '../../application/core/concurrency/coalesced-calls.ts';
import { type StoreWait, withoutWait } from '../../application/core/concurrency/store-wait.ts';
import { timeSlices } from '../../application/core/concurrency/time-slices.ts';
import { EventCodec } from '../../application/core/events/event-codec.ts';
import { Erasures } from '../../application/core/privacy/erasures.ts';
import { KeyRing } from '../../application/core/privacy/key-ring.ts';
import { ReadModels } from '../../application/core/projections/read-models.ts';
import { randomFill } from '../../application/core/runtime/random.ts';
import { LogFollower } from '../../application/core/subscriptions/log-follower.ts';
import { Directory } from '../../application/identity/directory.ts';
import type { Clock, Ids } from '../../application/ports/clock.ts';
import type { EventStore } from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Metrics } from '../../application/ports/metrics.ts';
import type { Passwords } from '../../application/ports/passwords.ts';
import type { TokenFamily } from '../../application/ports/tokens.ts';
import { DeliveryPressure } from '../../application/webhooks/delivery-pressure.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { QUOTAS } from '../../domain/tenancy/quotas.ts';
import { version } from '../../infrastructure/build.ts';
import { type Config, ConfigError, type SigningSecret } from '../../infrastructure/config.ts';
import { type Secrets, signingSecrets } from '../../infrastructure/development-secrets.ts';
import { uuidV7Ids } from '../../infrastructure/identity/ids.ts';
import { tokenFamily } from '../../infrastructure/identity/tokens.ts';
import type { Stores } from '../../infrastructure/stores.ts';
import { threadFigures } from '../../infrastructure/threads.ts';
import { projections } from '../../projections/all.ts';
import { createMetrics, type HttpMetrics } from '../http/metrics.ts';
import { type Adapters, nodeAdapters } from './adapters.ts';

/** The parts that every area uses. `S` is the type of the secrets. */
export interface Core<S = Secrets> {
  readonly config: Config;
  readonly secrets: S;
  readonly logger: Logger;
  readonly adapters: Adapters;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics: HttpMetrics & Metrics;
  readonly stores: Stores;
  /** The event log of `stores`. */
  readonly events: EventStore;
  /** Reads the log once for all followers of this thread. */
  readonly follower: LogFollower;
  /** Divides the time for background work among the tenants. */
  readonly scheduler: BackgroundScheduler;
  readonly keys: KeyRing;
  readonly erasures: Erasures;
  readonly codec: EventCodec;
  readonly states: StreamStates;
  readonly streams: Streams;
  readonly directory: Directory;
  readonly readModels: ReadModels;
  readonly pressure: DeliveryPressure;
  readonly passwords: Passwords;
  /** Keyed hash of an e-mail, ignoring case. Names the e-mail's stream without revealing the e-mail in the log. */
  readonly emailHash: (email: string) => string;
}

/**
 * @param secretsFrom called once the stores are open; may create secrets and store them in the data folder
 * @throws {ConfigError} for a `MASTER_KEY` or key store other than the one that sealed the data
 */
export const composeCore = async <S extends Pick<Secrets, 'MASTER_KEY'>>(
  config: Config,
  secretsFrom: (config: Config) => S,
  logger: Logger,
  clock: Clock,
  wait: StoreWait = withoutWait,
  adapters: Adapters = nodeAdapters,
): Promise<Core<S>> => {
  const opened = await adapters.openStores(config, logger, wait, timeSlices);
  const stores = { ...opened, reads: withCoalescedCalls(opened.reads) };
  const { events } = stores;
  const secrets = secretsFrom(config);
  const ids = uuidV7Ids(clock, randomFill);
  const metrics = createMetrics({ build: { version, role: config.ROLE }, threads: threadFigures });
  const keys = new KeyRing(stores.keys, secrets.MASTER_KEY);
  // Reads the log's end before the keys, because a concurrent first start writes keys before events.
  const hasEvents = (await wait(() => events.end())) !== undefined;
  const keyStore = await wait(() => keys.openStore(hasEvents));
  if (keyStore !== 'opened') throw new ConfigError(KEY_FAULTS[keyStore]);
  const codec = new EventCodec(catalogue, keys);
  const states = new StreamStates(events, codec, stores.snapshots, logger);
  const commands = new CommandHandler({ events, codec, states, keys, clock, ids, metrics });
  const streams = new Streams(commands, states);
  const directory = new Directory({ streams, keys });
  const readModels = new ReadModels(projections, stores.reads, clock, (search) =>
    logger.warn(search, 'slow search'),
  );
  const hashed = keyedHash(secrets.MASTER_KEY, 'email-hash');
  return {
    config,
    secrets,
    logger,
    adapters,
    clock,
    ids,
    metrics,
    stores,
    events,
    follower: new LogFollower({ events, logger }),
    scheduler: new BackgroundScheduler({
      longestRead: () => readModels.longestWait(),
      weightOf: (tenantId) => weightOf(directory, tenantId),
    }),
    keys,
    erasures: new Erasures({ events, codec, keys, store: stores.keys, logger }),
    codec,
    states,
    streams,
    directory,
    readModels,
    pressure: new DeliveryPressure(clock, adapters.utilization()),
    passwords: adapters.passwords(),
    emailHash: (email) => hashed(email.normalize('NFC').toLowerCase()),
  };
};

const KEY_FAULTS = {
  other_master_key: 'MASTER_KEY is not the one that the data in the key store was sealed with.',
  other_store:
    'The key store is empty, and the event log is not: set KEYSTORE_URL to the keys of this log, mount their folder, or restore them.',
} as const;

/** The weight of a tenant's plan; 1 until this process has loaded the tenant. */
const weightOf = (directory: Directory, tenantId: string): number => {
  const tenant = directory.cachedTenant(tenantId);
  // Loads the tenant for later calls. After an error, the next call tries again.
  if (tenant === 'unknown') void directory.tenant(tenantId).catch(() => undefined);
  return tenant === undefined || tenant === 'unknown' ? 1 : QUOTAS[tenant.plan].weight;
};

/** Tokens signed with the signing secret `name`. @param lifetimeOf as in {@link tokenFamily} */
export const tokensOf = <Claims extends object>(
  { secrets, clock }: Core,
  name: SigningSecret,
  claims: z.ZodType<Claims>,
  lifetimeOf: (claims: Claims) => number,
): TokenFamily<Claims> => tokenFamily(signingSecrets(secrets, name), claims, lifetimeOf, clock);

/** A hash that needs the master key, so that a reader of the log cannot confirm a guess of the hashed text. */
export const keyedHash = (masterKey: string, use: string): ((text: string) => string) => {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', use, 32)));
  return (text) => createHmac('sha256', key).update(text).digest('hex');
};
