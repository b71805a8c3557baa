import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeWhole } from '../durable-files.ts';
import { isPosition } from '../event-store/positions.ts';
import { storedAnswer } from '../idempotency/answers.ts';

/** The manifest of an export. It is written last, so a folder without one is an incomplete export. */
const MANIFEST = 'export.json';

const position = z.string().refine(isPosition);
const counted = z.object({ lines: z.number(), size: z.number(), sha256: z.string() });
const common = {
  format: z.literal(1),
  /** Id of the run; data and keys that were exported together share it. */
  id: z.uuid(),
  made_at: z.string(),
};
const dataManifest = z.object({
  ...common,
  kind: z.literal('data'),
  log: z.object({ events: z.number(), end: position.nullable() }),
  files: z.object({ 'events.ndjson': counted, 'answers.ndjson': counted, 'blobs.ndjson': counted }),
});
const keyManifest = z.object({
  ...common,
  kind: z.literal('keys'),
  files: z.object({ 'keys.ndjson': counted }),
});
export type DataManifest = z.output<typeof dataManifest>;
type KeyManifest = z.output<typeof keyManifest>;

/** An export or import that fails. The message is one sentence. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
}

export const writeManifest = (folder: string, value: DataManifest | KeyManifest): void =>
  writeWhole(join(folder, MANIFEST), `${JSON.stringify(value, null, 2)}\n`, renameSync);

/** @throws {MoveError} */
export const readDataManifest = (folder: string): DataManifest => manifestIn(folder, dataManifest);

/** @throws {MoveError} */
export const readKeyManifest = (folder: string): KeyManifest => manifestIn(folder, keyManifest);

const manifestIn = <S extends z.ZodType>(folder: string, schema: S): z.output<S> => {
  let text: string;
  try {
    text = readFileSync(join(folder, MANIFEST), 'utf8');
  } catch {
    throw new MoveError(`${folder} holds no complete export: ${MANIFEST} is missing.`);
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new MoveError(`${join(folder, MANIFEST)} was not written by an export of this kind.`);
  }
};

/** An event of the log, byte for byte. */
export const eventLine = z.object({
  position,
  stream: z.string().min(1),
  revision: z.int().nonnegative(),
  id: z.string(),
  type: z.string().min(1),
  data: z.string(),
  metadata: z.string(),
});

/** A data key in base64, wrapped by `MASTER_KEY`; null when destroyed. */
export const keyLine = z.object({ id: z.string(), wrapped: z.base64().nullable() });

const storedUse = { scope: z.string(), key: z.string(), expires_at: z.number() };
export const answerLine = z.union([
  z.object({ ...storedUse, use: z.object({ fingerprint: z.string(), nonce: z.string() }) }),
  z.object({ ...storedUse, answer: storedAnswer }),
]);

export const blobLine = z.object({
  tenant_id: z.string(),
  id: z.string(),
  size: z.number(),
  sha256: z.string(),
});
