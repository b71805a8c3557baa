import { z } from 'zod';

/** Makes sample event data from schemas, for projections to fold. */

export interface Sampling {
  /** Selects variants, enumerated values, and whether optional fields are present. */
  readonly round: number;
}

/** A placeholder for any text, also for a key that users chose, as in `values.…`. */
export const ANY_TEXT = '…';
/** Values for fields of any JSON, used in rotation. */
const ANY_JSON = [ANY_TEXT, 1, true, {}];

const schemaShape = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
  items: z.unknown().optional(),
  prefixItems: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  additionalProperties: z.unknown().optional(),
  required: z.array(z.string()).default([]),
  pattern: z.string().optional(),
  format: z.string().optional(),
  minimum: z.number().optional(),
  $ref: z.string().optional(),
});

/** Texts for patterns; the first match is used. */
const TEXTS = [
  'id',
  'ID',
  '1',
  '1.00',
  '2026-01-01',
  '2026-01-01T00:00:00.000Z',
  'EUR',
  'Europe/Berlin',
  'a@b.example',
];

function textOf({ pattern, format }: z.infer<typeof schemaShape>): string {
  if (format === 'date-time') return '2026-01-01T00:00:00.000Z';
  if (format === 'date') return '2026-01-01';
  return pattern === undefined
    ? ANY_TEXT
    : (TEXTS.find((text) => new RegExp(pattern, 'u').test(text)) ?? 'id');
}

/** A value that fits the schema; undefined for an optional field that this round omits. */
export function sampleOf(schema: unknown, sampling: Sampling): unknown {
  const shape = schemaShape.parse(schema);
  const { round } = sampling;
  if (shape.const !== undefined) return shape.const;
  if (shape.enum !== undefined) return shape.enum[round % shape.enum.length];
  const variants = shape.anyOf ?? shape.oneOf;
  if (variants !== undefined) return sampleOf(variants[round % variants.length], sampling);
  if (shape.allOf !== undefined)
    return Object.assign({}, ...shape.allOf.map((each) => sampleOf(each, sampling)));
  if (shape.prefixItems !== undefined) return shape.prefixItems.map((each) => sampleOf(each, sampling));
  const types = [shape.type ?? 'any'].flat();
  switch (types[round % types.length]) {
    case 'null':
      return null;
    case 'boolean':
      return round % 2 === 0;
    case 'integer':
    case 'number':
      return Math.max(1, shape.minimum ?? 1);
    case 'string':
      return textOf(shape);
    case 'array':
      return [sampleOf(shape.items ?? {}, sampling)];
    case 'object':
      return objectOf(shape, sampling);
    default:
      return ANY_JSON[round % ANY_JSON.length];
  }
}

function objectOf(shape: z.infer<typeof schemaShape>, sampling: Sampling): Record<string, unknown> {
  const fields = Object.entries(shape.properties ?? {})
    .filter(([name]) => shape.required.includes(name) || sampling.round % 3 !== 2)
    .map(([name, each]): [string, unknown] => [name, sampleOf(each, sampling)]);
  const others = shape.additionalProperties;
  if (typeof others === 'object' && others !== null && Object.keys(others).length > 0) {
    fields.push([ANY_TEXT, sampleOf(others, sampling)]);
  }
  return Object.fromEntries(fields);
}
