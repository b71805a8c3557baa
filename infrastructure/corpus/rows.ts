import { z } from 'zod';
import {
  type CorpusSource,
  SOURCE_KINDS,
  type SourceKey,
  type SourceSummary,
  type StoredSource,
} from '../../application/ports/corpus-store.ts';

/** Rows of both stores: MongoDB stores lists and flags as they are, SQLite stores them as JSON texts and numbers. */

const json = <S extends z.ZodType>(schema: S) =>
  z.union([
    schema,
    z
      .string()
      .transform((text): unknown => JSON.parse(text))
      .pipe(schema),
  ]);
const list = json(z.array(z.string()));
const flag = z.union([z.boolean(), z.number().transform((value) => value === 1)]);
const key = { kind: z.enum(SOURCE_KINDS), id: z.string() };
const common = { revision: z.string(), model: z.string().nullable(), hashes: list };

/** The stored name of the flag is `buried`. */
const withTombstone = <R extends { readonly buried: boolean }>({ buried, ...row }: R) => ({
  ...row,
  isTombstone: buried,
});

const summaryRow = z.object({ ...common, buried: flag }).transform(withTombstone);
const sourceRow = z.object({
  ...common,
  seq: z.number(),
  parent: z.string().nullable(),
  title: z.string(),
  texts: list,
});

export const changeRow = z.object({ ...key, seq: z.number(), buried: flag }).transform(withTombstone);
export const keyRow = z
  .object({ ...key, tenant: z.string() })
  .transform(({ tenant, ...rest }) => ({ tenantId: tenant, ...rest }));
const counts = z.object({ added: z.number(), updated: z.number(), skipped: z.number() });
export const runRow = z.object({ run: z.string(), counts: json(counts).nullable() });

export const summaryOf = ({ kind, id }: SourceKey, row: unknown): SourceSummary | undefined =>
  row === undefined ? undefined : { kind, id, ...summaryRow.parse(row) };

/** @param vectors the bytes that {@link bytesOf} made of the row's vectors */
export const sourceOf = (
  { kind, id }: SourceKey,
  row: unknown,
  vectors: Uint8Array | undefined,
): StoredSource => {
  const { hashes, texts, ...source } = sourceRow.parse(row);
  const found = vectors === undefined ? [] : fromBytes(vectors, hashes.length);
  const chunks = texts.map((text, at) => ({ text, hash: hashes[at] ?? '', vector: found[at] }));
  return { kind, id, ...source, chunks };
};

/**
 * The vectors of a source: concatenated, little-endian float32; undefined without vectors.
 * @throws TypeError when the first chunk has a vector, and the vector of another chunk is missing or has another length
 */
export const bytesOf = ({ model, chunks }: CorpusSource): Uint8Array | undefined => {
  const first = chunks[0]?.vector;
  if (model === null || first === undefined) return undefined;
  const all = new Float32Array(chunks.length * first.length);
  for (const [index, { vector }] of chunks.entries()) {
    if (vector?.length !== first.length) throw new TypeError('a source has vectors of one model or none');
    all.set(vector, index * first.length);
  }
  return new Uint8Array(all.buffer);
};

/** @param count number of vectors */
const fromBytes = (bytes: Uint8Array, count: number): readonly Float32Array[] => {
  // Copies explicitly: `slice` of a Buffer shares memory, and drivers return views of larger buffers.
  const all = new Float32Array(new Uint8Array(bytes).buffer);
  const dimensions = all.length / count;
  return Array.from({ length: count }, (_, index) =>
    all.subarray(index * dimensions, (index + 1) * dimensions),
  );
};
