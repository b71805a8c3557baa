import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { valuesSchema } from '../../domain/entities/fields.ts';
import type { LiveRecord } from '../../domain/entities/record.ts';
import type { Input } from '../../domain/entities/record-values.ts';
import { invalid } from '../../domain/errors.ts';
import type { RecordDoc } from '../../projections/records.ts';
import { timestamp } from '../http/schemas.ts';

/** Records as they are sent and answered (decisions, section 6, Record). */

const isObject = (value: unknown): value is Input =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Kept exactly as it was sent, whatever its keys: the entity's fields say what is allowed. */
export const recordBody = z.object({
  values: z
    .custom<Input>(isObject, 'This must be an object of values by field key.')
    .meta({ override: { type: 'object', additionalProperties: true } }),
});

export const recordView = z
  .object({
    id: z.string(),
    entity_name: z.string(),
    values: valuesSchema.meta({
      override: { type: 'object', additionalProperties: true },
      description: 'By field key; a field without a value is left out.',
    }),
    state: z.string().nullable().meta({ description: 'Of the record’s job; null without one.' }),
    job_id: z.string().nullable(),
    version: z.int().positive().meta({ description: 'Counts changes of values and state. The `ETag`.' }),
    created_at: timestamp,
    updated_at: timestamp,
    created_by: z.string(),
  })
  .meta({ id: 'Record' });
type RecordView = z.output<typeof recordView>;

export const docView = (doc: RecordDoc): RecordView => ({
  id: doc.id,
  entity_name: doc.entity_name,
  values: { ...doc.values },
  state: doc.state,
  job_id: doc.job_id,
  version: doc.version,
  created_at: doc.created_at,
  updated_at: doc.updated_at,
  created_by: doc.created_by,
});

export const liveView = (record: LiveRecord): RecordView => ({
  id: record.id,
  entity_name: record.entityName,
  values: { ...record.values },
  state: record.job?.state ?? null,
  job_id: record.job === undefined ? null : record.id,
  version: record.version,
  created_at: new Date(record.createdAt).toISOString(),
  updated_at: new Date(record.updatedAt).toISOString(),
  created_by: record.createdBy,
});

export const etagOf = ({ version }: { readonly version: number }): Record<string, string> => ({
  ETag: `"${version}"`,
});

const ETAG = /^"([\x21\x23-\x7e]*)"$/;
/** No record is ever at this version. */
const NEVER = -1;

/**
 * The version of `If-Match`: undefined without one, or for `*`, which any record matches.
 * @throws 400 for what is no entity tag
 */
export const ifMatch = (headers: IncomingHttpHeaders): number | undefined => {
  const header = headers['if-match']?.trim();
  if (header === undefined || header === '*') return undefined;
  const tag = ETAG.exec(header)?.[1];
  if (tag === undefined) {
    const message = 'If-Match must be an entity tag: a version in quotes.';
    throw invalid([{ path: 'If-Match', code: 'invalid_format', message }]);
  }
  return /^(?:0|[1-9][0-9]{0,14})$/.test(tag) ? Number(tag) : NEVER;
};
