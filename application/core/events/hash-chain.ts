import { hash } from 'node:crypto';

/** The texts that the hash chain covers (docs/audit-format.md). */

interface ChainedActor {
  readonly kind: string;
  readonly id: string;
  readonly user_id?: string | undefined;
}

interface ChainedCause {
  readonly actor: ChainedActor;
  readonly impersonatedBy?: string | undefined;
  readonly correlationId: string;
  readonly causationId: string;
  readonly traceparent?: string | undefined;
}

const actorText = ({ id, kind, user_id }: ChainedActor): string =>
  user_id === undefined
    ? `{"id":${JSON.stringify(id)},"kind":"${kind}"}`
    : `{"id":${JSON.stringify(id)},"kind":"${kind}","user_id":${JSON.stringify(user_id)}}`;

/** Canonical JSON of the event's metadata in two parts, before and after the member `hash`. */
export const metadataTexts = (
  { actor, causationId, correlationId, impersonatedBy, traceparent }: ChainedCause,
  at: number,
  previous: string,
  version: number,
  tenantId: string,
): readonly [string, string] => [
  `{"$causationId":${JSON.stringify(causationId)},"$correlationId":${JSON.stringify(correlationId)},` +
    `"actor":${actorText(actor)},`,
  `${impersonatedBy === undefined ? '' : `"impersonated_by":${JSON.stringify(impersonatedBy)},`}` +
    `"occurred_at":"${new Date(at).toISOString()}","prev_hash":"${previous}",` +
    `"schema_version":${version},"tenant_id":${JSON.stringify(tenantId)}` +
    `${traceparent === undefined ? '' : `,"traceparent":${JSON.stringify(traceparent)}`}}`,
];

/** The hash of an event, which becomes `metadata.hash`. No part may contain a line feed. */
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
