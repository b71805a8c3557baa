import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { invalidAt } from '../../../domain/core/errors.ts';
import { iso } from '../../../domain/core/projection.ts';
import { type Field, inOrder, valuesSchema } from '../../../domain/entities/fields.ts';
import type { LiveRecord } from '../../../domain/entities/record.ts';
import type { Input } from '../../../domain/entities/record-values.ts';
import type { RecordDoc } from '../../../projections/entities/records.ts';
import { timestamp } from '../../http/schemas.ts';
import { shown } from '../replies.ts';

/** Requests and answers of records (decisions, section 6, Record). */

const isObject = (value: unknown): value is Input =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Kept exactly as sent, with any keys; the entity's fields decide which are allowed. */
export const recordBody = z.object({
  values: z
    .custom<Input>(isObject, 'This must be an object with field keys and their values.')
    .meta({ override: { type: 'object', additionalProperties: true } }),
});

export const recordView = z
  .object({
    id: z.string(),
    entity_name: z.string(),
    values: valuesSchema.meta({
      override: { type: 'object', additionalProperties: true },
      description: 'Values by field key; a field without a value is left out.',
    }),
    state: z.string().nullable().meta({ description: 'The state of the record’s job; null without a job.' }),
    job_id: z.string().nullable(),
    version: z.int().positive().meta({ description: 'Number of changes of values and state; the `ETag`.' }),
    created_at: timestamp,
    updated_at: timestamp,
    created_by: z.string(),
  })
  .meta({ id: 'EntityRecord' });

export const docView = (doc: RecordDoc, fields: readonly Field[]) =>
  shown(recordView, { ...doc, values: { ...inOrder(fields, doc.values) } });

export const liveView = (record: LiveRecord, fields: readonly Field[]): z.output<typeof recordView> => ({
  id: record.id,
  entity_name: record.entityName,
  values: { ...inOrder(fields, record.values) },
  state: record.job?.state ?? null,
  job_id: record.job === undefined ? null : record.id,
  version: record.version,
  created_at: iso(record.createdAt),
  updated_at: iso(record.updatedAt),
  created_by: record.createdBy,
});

export const etagOf = ({ version }: { readonly version: number }): Record<string, string> => ({
  ETag: `"${version}"`,
});

const ETAG = /^"([\x21\x23-\x7e]*)"$/;
/** A version that no record has. */
const NEVER = -1;

/**
 * The version of `If-Match`: undefined without the header, or for `*`, which any record matches.
 * @throws 400 for a text that is not an entity tag
 */
export const ifMatch = (headers: IncomingHttpHeaders): number | undefined => {
  const header = headers['if-match']?.trim();
  if (header === undefined || header === '*') return undefined;
  const tag = ETAG.exec(header)?.[1];
  if (tag === undefined)
    throw invalidAt('If-Match', 'invalid_format', 'If-Match must be an entity tag: a version in quotes.');
  return /^(?:0|[1-9][0-9]{0,14})$/.test(tag) ? Number(tag) : NEVER;
};
