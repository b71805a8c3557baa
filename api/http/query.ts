import { parse as parseQuery } from 'node:querystring';
import { z } from 'zod';
import { type DomainError, invalid } from '../../domain/core/errors.ts';

export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Parameters that no route refuses as unknown: `checkNamed` checks them against the caller. */
const EVERYWHERE: readonly string[] = ['tenant_id', 'partner_id'];
/** Maximum characters of an unknown name that the answer repeats. */
const SHOWN = 40;

const NONE: Query = Object.freeze({});

/** @param search the text after `?` */
export const queryOf = (search: string): Query =>
  search === '' ? NONE : parseQuery(search, undefined, undefined, { maxKeys: 0 });

/** Parameters that a schema of a query knows. @throws for a schema that is not an object schema */
export const queryNames = (schema: z.ZodType | undefined): readonly string[] => {
  if (schema === undefined) return [];
  if (schema instanceof z.ZodPipe && schema.in instanceof z.ZodObject) return Object.keys(schema.in.shape);
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  throw new Error('the schema of a query is no object schema');
};

/** Refuses parameters that nothing reads, since a misspelt filter would select everything. @throws {DomainError} 400 */
export const checkQueryNames = (query: Query, known: readonly string[]): void => {
  const unknown = Object.keys(query).filter((name) => !known.includes(name) && !EVERYWHERE.includes(name));
  if (unknown.length > 0) throw unknownParameters(unknown, known);
};

const unknownParameters = (unknown: readonly string[], known: readonly string[]): DomainError => {
  const allowed =
    known.length === 0 ? 'This request takes no query parameters.' : `Known parameters: ${known.join(', ')}.`;
  return invalid(
    unknown.slice(0, 100).map((name) => {
      const shown = name.slice(0, SHOWN).toWellFormed();
      return {
        path: shown,
        code: 'unknown_parameter',
        message: `Unknown query parameter ${shown}. ${allowed}`,
      };
    }),
  );
};
