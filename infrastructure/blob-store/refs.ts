import { createHash } from 'node:crypto';
import { type Readable, Transform } from 'node:stream';
import type { BlobRef, StoredBlob } from '../../application/ports/blob-store.ts';

const TENANT = /^[a-z][a-z0-9_]{0,39}$/;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isTenantSegment = (text: string): boolean => TENANT.test(text);
export const isBlobId = (text: string): boolean => ID.test(text);

/** @throws unless the ref is a tenant id and a UUID: any other text must not become part of a path */
export const checkRef = ({ tenantId, id }: BlobRef): void => {
  if (!isTenantSegment(tenantId) || !isBlobId(id)) throw new TypeError('this is no place of a blob');
};

/** Counts and hashes the bytes that pass through. */
export const measure = (): { readonly add: (chunk: Buffer) => void; readonly total: () => StoredBlob } => {
  const hash = createHash('sha256');
  let size = 0;
  return {
    add: (chunk) => {
      size += chunk.length;
      hash.update(chunk);
    },
    total: () => ({ size, sha256: hash.digest('hex') }),
  };
};

/** Counts and hashes all bytes of a source. */
export const measured = async (source: AsyncIterable<Buffer>): Promise<StoredBlob> => {
  const { add, total } = measure();
  for await (const chunk of source) add(chunk);
  return total();
};

/** {@link measure} as a stage of a pipeline. */
export const measuring = (): { readonly through: Transform; readonly total: () => StoredBlob } => {
  const { add, total } = measure();
  const through = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      add(chunk);
      done(null, chunk);
    },
  });
  return { through, total };
};

/** Adds an error listener: an error before the first read would end the process. The reader gets the error later. */
export const guarded = (source: Readable): Readable => source.on('error', () => undefined);
