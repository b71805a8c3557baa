import { createRequire } from 'node:module';
import { decoded, hasHost, hasScheme, without } from './kinds.ts';

/**
 * Checks connection strings before the start, because errors of the clients may print passwords: for an unknown
 * option, the EventStoreDB client prints the whole string.
 */

const BOOLEAN = /^(true|false)$/;
const WHOLE = /^-?[0-9]{1,9}$/;
const ANY = /./;

/**
 * Options of the EventStoreDB client, in lower case without `_` and `-`: the client ignores case and these
 * characters.
 */
const ESDB_OPTIONS: Readonly<Record<string, RegExp>> = {
  tls: BOOLEAN,
  // The client would ignore `false`.
  tlsverifycert: /^true$/,
  // With `false`, a failed append returns a wrong revision.
  throwonappendfailure: /^true$/,
  tlscafile: ANY,
  usercertfile: ANY,
  userkeyfile: ANY,
  connectionname: ANY,
  maxdiscoverattempts: WHOLE,
  defaultdeadline: WHOLE,
  discoveryinterval: WHOLE,
  gossiptimeout: WHOLE,
  keepaliveinterval: WHOLE,
  keepalivetimeout: WHOLE,
  nodepreference: /^(leader|follower|read[_-]?only[_-]?replica|random)$/i,
};

/** Returns the fault of an EventStoreDB connection string, or undefined. Stricter than the client. */
const esdbFault = (value: string): string | undefined => {
  if (!/^esdb(\+discover)?:\/\//.test(value))
    return 'must be an EventStoreDB connection string that begins with esdb://';
  if (!hasHost(value)) return 'must name a host';
  const [, person, hosts = '', options = ''] =
    /^[^/]+\/\/(?:([^?#]*)@)?([^?]*?)\/*(?:\?(.*?))?\/*$/.exec(value) ?? [];
  if (person !== undefined && !(/^[^:@]+:[^:@]+$/.test(person) && decoded(person)))
    return 'must hold user and password as user:password@, with special characters percent-encoded';
  const isHost = (host: string): boolean => /^[A-Za-z0-9._-]+(:[0-9]{1,5})?$/.test(host);
  if (!hosts.split(',').every((host) => isHost(host) && Number(host.split(':')[1] ?? 1) <= 65_535))
    return 'must name its hosts as host:port, separated by commas';
  for (const pair of options === '' ? [] : options.split('&')) {
    const [, name = '', text = ''] = /^([^=]+)=([^&?]+)$/.exec(pair) ?? [];
    const allowed = Object.entries(ESDB_OPTIONS).find(
      ([known]) => known === name.trim().toLowerCase().replace(/[_-]/g, ''),
    )?.[1];
    const shown = /^\w{1,40}$/.test(name) ? name : 'one of its options';
    if (allowed === undefined) return `must not have an option that the client does not know: ${shown}`;
    if (!allowed.test(text.trim()) || !decoded(text)) return `must have a valid value of ${shown}`;
  }
  return undefined;
};

/** Loads the MongoDB driver only when there is a connection string to check. */
const require = createRequire(import.meta.url);

/** Returns the fault for which the MongoDB driver would refuse a connection string, or undefined. */
const mongoFault = (value: string): string | undefined => {
  if (!/^mongodb(\+srv)?:\/\//.test(value))
    return 'must be a MongoDB connection string that begins with mongodb://';
  if (!hasHost(value)) return 'must name a host';
  const { MongoClient }: typeof import('mongodb') = require('mongodb');
  try {
    new MongoClient(value);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const option = /\boption "?(\w{1,40})"?/.exec(message)?.[1];
    const where = option === undefined ? '' : `: see its option ${option}`;
    return `must be a connection string that the MongoDB driver accepts${where}`;
  }
};

export const esdbUrl = () => without(esdbFault);
export const mongoUrl = () => without(mongoFault);

/**
 * A connection string of MongoDB, or a folder's path. Refuses other schemes, which would be taken for a folder's
 * name.
 */
export const mongoUrlOrFolder = () =>
  without((value) => {
    if (value.startsWith('mongodb')) return mongoFault(value);
    return hasScheme(value)
      ? 'must be a folder, or a MongoDB connection string that begins with mongodb://'
      : undefined;
  });
