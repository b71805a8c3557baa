import { hash } from 'node:crypto';

/** The texts that an event is chained by (docs/audit-format.md). */

interface Actor {
  readonly kind: string;
  readonly id: string;
  readonly user_id?: string | undefined;
}

interface Cause {
  readonly actor: Actor;
  readonly impersonatedBy?: string | undefined;
  readonly correlationId: string;
  readonly causationId: string;
}

const actorText = ({ id, kind, user_id }: Actor): string =>
  user_id === undefined
    ? `{"id":${JSON.stringify(id)},"kind":"${kind}"}`
    : `{"id":${JSON.stringify(id)},"kind":"${kind}","user_id":${JSON.stringify(user_id)}}`;

/** The canonical text of an event's metadata, parted where `hash` goes: after `actor`, before all later members. */
export const metadataTexts = (
  { actor, causationId, correlationId, impersonatedBy }: Cause,
  at: number,
  previous: string,
  version: number,
  tenantId: string,
): readonly [string, string] => [
  `{"$causationId":${JSON.stringify(causationId)},"$correlationId":${JSON.stringify(correlationId)},` +
    `"actor":${actorText(actor)},`,
  `${impersonatedBy === undefined ? '' : `"impersonated_by":${JSON.stringify(impersonatedBy)},`}` +
    `"occurred_at":"${new Date(at).toISOString()}","prev_hash":"${previous}",` +
    `"schema_version":${version},"tenant_id":${JSON.stringify(tenantId)}}`,
];

const HASH = '"hash":"';
const HASH_LENGTH = 64;
const AT = '"occurred_at":"';
const AT_LENGTH = '2026-01-01T00:00:00.000Z'.length;
const VERSION = '"schema_version":';

/**
 * Some of what {@link metadataTexts} writes, found by its place in the text: the text is canonical, and a quote within
 * any of its strings is escaped, so that no string can hold one of the members that are looked for.
 */
export const storedFacts = (
  metadata: string,
): { readonly hash: string | undefined; readonly at: number; readonly version: number } => {
  const hash = metadata.indexOf(HASH) + HASH.length;
  const at = metadata.indexOf(AT, hash) + AT.length;
  const version = metadata.indexOf(VERSION, at) + VERSION.length;
  if (hash < HASH.length || at < AT.length || version < VERSION.length) return NO_FACTS;
  if (metadata.charAt(hash + HASH_LENGTH) !== '"' || metadata.charAt(at + AT_LENGTH) !== '"') return NO_FACTS;
  return {
    hash: metadata.slice(hash, hash + HASH_LENGTH),
    at: Date.parse(metadata.slice(at, at + AT_LENGTH)),
    version: Number.parseInt(metadata.slice(version, version + 10), 10),
  };
};

const PREVIOUS = '"prev_hash":"';

/** Whether an event's hash is that of its texts and its place, so that they are what was written there. */
export const isAsHashed = ({ stream, revision, id, type, data, metadata }: Hashed): boolean => {
  const at = metadata.indexOf(HASH);
  const end = at + HASH.length + HASH_LENGTH;
  const previous = metadata.indexOf(PREVIOUS, end) + PREVIOUS.length;
  if (at < 0 || previous < PREVIOUS.length) return false;
  const rest = metadata.slice(0, at) + metadata.slice(end + '",'.length);
  const before = metadata.slice(previous, previous + HASH_LENGTH);
  return chainHash(before, stream, revision, id, type, data, rest) === metadata.slice(end - HASH_LENGTH, end);
};

interface Hashed {
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

const NO_FACTS = { hash: undefined, at: Number.NaN, version: Number.NaN };

/** The recipe of `metadata.hash`; every part is one line, and none can hold a line feed. */
export const chainHash = (
  previous: string,
  stream: string,
  revision: number,
  id: string,
  type: string,
  data: string,
  metadataWithoutHash: string,
): string =>
  hash(
    'sha256',
    `${previous}\n${stream}\n${revision}\n${id}\n${type}\n${data}\n${metadataWithoutHash}`,
    'hex',
  );
