import { z } from 'zod';
import { isSizedFirst } from '../../domain/core/list-schema.ts';
import type { Route } from './route.ts';

/** The schemas directly inside a schema. */
const innerOf = (schema: z.ZodType): readonly unknown[] => {
  if (schema instanceof z.ZodArray) return [schema.element];
  if (schema instanceof z.ZodObject) return Object.values(schema.shape);
  if (schema instanceof z.ZodUnion) return schema.options;
  if (schema instanceof z.ZodPipe) return [schema.def.in, schema.def.out];
  if (schema instanceof z.ZodRecord) return [schema.valueType];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return [schema.def.innerType];
  }
  return [];
};

/** The path of a list whose elements are checked before its length; undefined without such a list. */
export const unboundedList = (schema: z.ZodType, path = 'body'): string | undefined => {
  if (schema instanceof z.ZodArray && !isSizedFirst(schema)) return path;
  const names = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  for (const [at, inner] of innerOf(schema).entries()) {
    const found = inner instanceof z.ZodType ? unboundedList(inner, `${path}.${names[at] ?? at}`) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
};

/** @throws for a route whose body has a list that is not bounded */
export const checkBounded = ({ body, operationId }: Pick<Route, 'body' | 'operationId'>): void => {
  const found = body === undefined ? undefined : unboundedList(body);
  if (found !== undefined) throw new Error(`${operationId}: ${found} is a list without listOf()`);
};
