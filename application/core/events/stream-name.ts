/** Parts of a stream name `<tenant>.<category>-<id>`. */

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

/** The part before the dot: a tenant or another owner; empty for a name of another form. */
export const ownerOf = (stream: string): string => stream.slice(0, Math.max(0, stream.indexOf('.')));

/** The prefix of the names of all streams of a tenant. */
export const tenantPrefix = (tenantId: string): string => `${tenantId}.`;
