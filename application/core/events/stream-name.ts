/** Stream names: `<tenant>.<category>-<id>`. Built and taken apart here and nowhere else. */

export interface StreamName {
  readonly tenantId: string;
  readonly category: string;
  readonly id: string;
}

export const streamName = (tenantId: string, category: string, id: string): string =>
  `${tenantId}.${category}-${id}`;

export const parseStreamName = (stream: string): StreamName => {
  const dot = stream.indexOf('.');
  const dash = stream.indexOf('-', dot);
  if (dot <= 0 || dash < 0) throw new Error(`not a stream of the product: ${stream}`);
  return {
    tenantId: stream.slice(0, dot),
    category: stream.slice(dot + 1, dash),
    id: stream.slice(dash + 1),
  };
};

/** The tenant of a stream's name, or whose else it is; empty for a name that is none of the product's. */
export const ownerOf = (stream: string): string => stream.slice(0, Math.max(0, stream.indexOf('.')));

/** Selects all streams of one tenant. */
export const tenantPrefix = (tenantId: string): string => `${tenantId}.`;

/** The platform's own streams (tenants, platform admins) live under this id. */
export const PLATFORM = 'platform';
