import { z } from 'zod';

/**
 * Schema of a list from a caller. Checks the maximum length before the elements; `z.array().max()` would first check
 * every element, even of a list of millions.
 */
export const listOf = <Element extends z.ZodType>(
  element: Element,
  { min = 0, max, tooShort }: { readonly min?: number; readonly max: number; readonly tooShort?: string },
) => {
  const list = (min === 0 ? z.array(element) : z.array(element).min(min, tooShort)).meta({ maxItems: max });
  sizedFirst.add(list);
  return z.preprocess((value, context) => {
    if (!Array.isArray(value) || value.length <= max) return value;
    context.issues.push({ code: 'too_big', origin: 'array', maximum: max, inclusive: true, input: value });
    return z.NEVER;
  }, list);
};

const sizedFirst = new WeakSet<object>();

/** Whether a schema is the inner list schema of {@link listOf}, which never gets a list longer than its maximum. */
export const isSizedFirst = (list: object): boolean => sizedFirst.has(list);
