import { createHmac, hkdfSync } from 'node:crypto';
import { EventCodec } from '../../application/codec.ts';
import { CommandHandler } from '../../application/command-handler.ts';
import { Directory } from '../../application/directory.ts';
import { Erasures } from '../../application/erasures.ts';
import type { Clock, Ids } from '../../application/ports/clock.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Metrics } from '../../application/ports/metrics.ts';
import type { Passwords } from '../../application/ports/passwords.ts';
import { ReadModels } from '../../application/read-models.ts';
import { KeyRing } from '../../application/sealing.ts';
import { StreamStates } from '../../application/stream-states.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { type Config, ConfigError } from '../../infrastructure/config.ts';
import { type Secrets, secretsOf } from '../../infrastructure/development-secrets.ts';
import { uuidV7Ids } from '../../infrastructure/identity/ids.ts';
import { argon2Passwords } from '../../infrastructure/identity/passwords.ts';
import { openStores, type Stores } from '../../infrastructure/stores.ts';
import { projections } from '../../projections/all.ts';
import { createMetrics, type HttpMetrics } from '../http/metrics.ts';

/** What every area is built from. */
export interface Core {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics: HttpMetrics & Metrics;
  readonly stores: Stores;
  readonly keys: KeyRing;
  readonly erasures: Erasures;
  readonly codec: EventCodec;
  readonly states: StreamStates;
  readonly commands: CommandHandler;
  readonly directory: Directory;
  readonly readModels: ReadModels;
  readonly passwords: Passwords;
  /** Keyed hash of an e-mail without regard to case: names its stream, and says nothing to who reads the log. */
  readonly emailHash: (email: string) => string;
}

/** @throws {ConfigError} for a `MASTER_KEY` that the data was not sealed with */
export const composeCore = async (config: Config, logger: Logger, clock: Clock): Promise<Core> => {
  const stores = await openStores(config, logger);
  const secrets = secretsOf(config);
  const ids = uuidV7Ids(clock);
  const metrics = createMetrics();
  const keys = new KeyRing(stores.keys, secrets.MASTER_KEY);
  if (!(await keys.opensStore())) {
    throw new ConfigError('MASTER_KEY is not the one that the data in the key store was sealed with.');
  }
  const codec = new EventCodec(catalogue, keys);
  const states = new StreamStates(stores.events, codec, stores.snapshots, logger);
  const commands = new CommandHandler({ events: stores.events, codec, states, keys, clock, ids, metrics });
  return {
    config,
    secrets,
    logger,
    clock,
    ids,
    metrics,
    stores,
    keys,
    erasures: new Erasures({ events: stores.events, codec, keys, store: stores.keys, logger }),
    codec,
    states,
    commands,
    directory: new Directory(states, keys),
    readModels: new ReadModels(projections, stores.reads, clock),
    passwords: argon2Passwords(),
    emailHash: emailHasher(secrets.MASTER_KEY),
  };
};

const emailHasher = (masterKey: string): ((email: string) => string) => {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'email-hash', 32));
  return (email) => createHmac('sha256', key).update(email.normalize('NFC').toLowerCase()).digest('hex');
};
