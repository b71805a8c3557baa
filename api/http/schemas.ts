import { z } from 'zod';
import { ERROR_CODES } from '../../domain/core/errors.ts';
import { codePoints, isStorableText } from '../../domain/core/text.ts';

/** Schemas that all areas use in requests and answers (decisions, section 1). */

/**
 * A text whose length counts code points; refuses NUL and lone surrogates, which not every store can hold.
 * @param options.min default 1
 */
export const text = ({ min = 1, max }: { min?: number; max: number }) =>
  z
    .string()
    .superRefine((value, context) => {
      const length = codePoints(value);
      if (length < min) {
        context.addIssue({ code: 'too_small', origin: 'string', minimum: min, inclusive: true });
      }
      if (length > max) {
        context.addIssue({ code: 'too_big', origin: 'string', maximum: max, inclusive: true });
      }
      if (!isStorableText(value)) {
        context.addIssue({ code: 'custom', message: 'The text contains a character that cannot be stored.' });
      }
    })
    .meta({ override: { minLength: min, maxLength: max } });

/** A {@link text} of more than white space. */
export const filledText = (max: number, message: string) =>
  text({ max }).refine((value) => value.trim() !== '', message);

/** Lets a body name the caller's own tenant. The pipeline has checked `tenant_id` before the body's shape. */
export const ownTenant = { tenant_id: z.unknown().optional() };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A generated id: a lower-case UUID. In a path, a malformed id is a 404 like an unknown id. */
export const uuid = z
  .string()
  .regex(UUID, 'This is not an id.')
  .meta({ override: { format: 'uuid' } });

/** `:id` in a path. */
export const idParams = z.object({ id: uuid });

/** `limit` of a list: an integer, clamped (decisions, section 1). */
export const limit = ({ fallback = 50, max = 200 }: { fallback?: number; max?: number } = {}) =>
  z
    .string()
    .regex(/^[+-]?[0-9]{1,15}$/, 'limit must be a whole number.')
    .meta({
      override: ({ jsonSchema }) => {
        jsonSchema.type = 'integer';
        delete jsonSchema.pattern;
      },
    })
    .default(String(fallback))
    .meta({ override: { default: fallback } })
    .transform((value) => Math.min(max, Math.max(1, Number(value))))
    .meta({ description: `Maximum number of entries, 1 to ${max}; other values are clamped.` });

/** `cursor` of a list, opaque. */
export const cursor = z
  .string()
  .min(1)
  .max(2_000)
  .optional()
  .meta({ description: 'From the `next` link of the previous page.' });

/** An instant in an answer: RFC 3339, UTC, milliseconds. */
export const timestamp = z.iso.datetime({ precision: 3 });

/**
 * An instant from a caller with any offset, converted to UTC with milliseconds; years 0000 to 9999, so that it sorts
 * as text.
 */
export const instant = z.iso
  .datetime({ offset: true })
  .transform((value) => new Date(value).toISOString())
  .refine((value) => /^[0-9]/.test(value), {
    error: 'This is not an instant of the years 0000 to 9999.',
    abort: true,
  });

/** A log position: opaque, sorts as text. */
export const position = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'This is not a position.')
  .meta({ description: 'A position in the event log. Opaque.' });

/** The JSON body of a 4xx or 5xx (specification, Errors). */
export const errorBody = z
  .object({
    error: z.enum(ERROR_CODES),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
    request_id: z
      .string()
      .optional()
      .meta({ description: 'As in `X-Request-Id`; absent from `assistant_not_entitled`.' }),
  })
  .meta({ id: 'Error', description: 'Clients branch on `error`; `message` may be reworded.' });
