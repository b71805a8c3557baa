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
