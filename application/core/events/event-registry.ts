import { z } from 'zod';
import { canonicalJson } from '../../../domain/core/canonical-json.ts';
import type { EventDefinition } from '../../../domain/core/event.ts';

/** Prepares each event type once for encoding. */
export const knownTypes = (catalogue: readonly EventDefinition[]): ReadonlyMap<string, KnownType> =>
  new Map(
    catalogue.map((definition) => {
      const { type, schema } = definition;
      return [type, { definition, fields: fieldsOf(schema) }];
    }),
  );

interface SortedField {
  readonly name: string;
  /** `"name":` */
  readonly prefix: string;
}

export interface KnownType {
  readonly definition: EventDefinition;
  /**
   * The fields of an object schema in canonical order. Undefined for other schemas: `canonicalJson` sorts each event.
   */
  readonly fields: readonly SortedField[] | undefined;
}

const fieldsOf = (schema: z.ZodType): readonly SortedField[] | undefined =>
  schema instanceof z.ZodObject
    ? Object.keys(schema.shape)
        .sort()
        .map((name) => ({ name, prefix: `${JSON.stringify(name)}:` }))
    : undefined;

/** Like `canonicalJson`, with only the members that `fields` names, in the order of `fields`. */
export const canonicalFields = (
  values: Readonly<Record<string, unknown>>,
  fields: readonly SortedField[],
): string => {
  let text = '{';
  for (const { name, prefix } of fields) {
    const value = values[name];
    if (value === undefined) continue;
    if (text.length > 1) text += ',';
    text += prefix + (typeof value === 'string' ? JSON.stringify(value) : canonicalJson(value));
  }
  return `${text}}`;
};
