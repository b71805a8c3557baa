import { isRecord } from '../../../../client/src/errors.ts';
import type { components } from '../../../../client/src/index.ts';
import { useTenant } from '../../kit/index.ts';

export type AuditEvent = components['schemas']['AuditedEvent'];

const textAt = (value: unknown, key: string): string | undefined => {
  const found = isRecord(value) ? value[key] : undefined;
  return typeof found === 'string' ? found : undefined;
};

/** The metadata of an event; parts that cannot be parsed are undefined. */
export const metadataOf = ({ metadata }: AuditEvent) => {
  const actor = isRecord(metadata) ? metadata.actor : undefined;
  return {
    at: textAt(metadata, 'occurred_at'),
    actorKind: textAt(actor, 'kind'),
    actorId: textAt(actor, 'id'),
    impersonatedBy: textAt(metadata, 'impersonated_by'),
    causationId: textAt(metadata, '$causationId'),
    correlationId: textAt(metadata, '$correlationId'),
    hash: textAt(metadata, 'hash'),
    previousHash: textAt(metadata, 'prev_hash'),
    trace: textAt(metadata, 'traceparent'),
  };
};

/** Category and id of a stream's name, `<tenant>.<category>-<id>`. */
export const partsOf = (stream: string): { readonly category: string; readonly id: string } => {
  const rest = stream.slice(stream.indexOf('.') + 1);
  const dash = rest.indexOf('-');
  return dash < 0 ? { category: rest, id: '' } : { category: rest.slice(0, dash), id: rest.slice(dash + 1) };
};

export const streamPath = (stream: string, revision?: number): string =>
  `/events/streams/${encodeURIComponent(stream)}${revision === undefined ? '' : `?revision=${revision}`}`;

/** Converts the local times of `datetime-local` filters to instants. */
export const instantsOf = (local: { readonly [name: string]: string }): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(local).map(([name, at]) => [name, new Date(at).toISOString()]));

/** Link to the stream of a resource, if the user may read the log. */
export const useStreamOf = (category: string, id: string): string | undefined => useStreams()(category, id);

export const useStreams = (): ((category: string, id: string) => string | undefined) => {
  const tenant = useTenant();
  return (category, id) =>
    tenant?.role === 'admin' ? streamPath(`${tenant.tenantId}.${category}-${id}`) : undefined;
};

/** Path of the page that shows the subject of a stream; undefined if there is no such page. */
export const subjectPath = (stream: string): string | undefined => {
  const { category, id } = partsOf(stream);
  switch (category) {
    case 'entry':
      return `/ledger/entries/${id}`;
    case 'record':
      return `/records/by-id/${id}`;
    case 'conversation':
      return `/messages/${id}`;
    case 'bulk':
      return `/bulk/${id}`;
    case 'delivery':
      return `/webhooks/deliveries/${id}`;
    case 'user':
      return '/users';
    case 'schema':
      return `/records/${id}`;
    case 'workflow':
      return `/workflows/${id}`;
    case 'form':
      return '/forms';
    default:
      return undefined;
  }
};
