import { z } from 'zod';
import type { Window } from '../../../domain/billing/shapes.ts';
import { invalidAt } from '../../../domain/core/errors.ts';
import { isDay } from '../../../domain/ledger/dates.ts';
import { instant } from '../../http/schemas.ts';

/** Windows in requests (decisions, section 10): instants or dates, `[from, to)`, in UTC. */

const SENTENCE =
  'This is neither a day such as 2026-11-01 nor an instant such as 2026-11-01T00:00:00Z, of the years 0001 to 9999.';

const day = z
  .string()
  .refine(isDay)
  .transform((text) => `${text}T00:00:00.000Z`);

/** In UTC, an instant with an offset can be in a year outside 0001 to 9999. */
const isInYears = (text: string): boolean => /^[0-9]{4}-/.test(text) && !text.startsWith('0000');

/** An instant, or a day for its first moment, as UTC with milliseconds. */
const moment = z
  .union([instant.refine(isInYears, SENTENCE), day], SENTENCE)
  .meta({ description: 'An instant, or a day (UTC), which means its first moment.' });

/** Members of a query or body. */
export const windowFields = {
  from: moment.optional().meta({
    description: 'Start of the window, inclusive; default: the start of this calendar month (UTC).',
  }),
  to: moment
    .optional()
    .meta({ description: 'End of the window, exclusive; default: the end of this calendar month (UTC).' }),
};

const monthOf = (now: number): Window => {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const start = (ahead: number): string => new Date(Date.UTC(year, month + ahead)).toISOString();
  return { from: start(0), to: start(1) };
};

/**
 * The window of a request. A missing `from` or `to` is the start or the end of the present calendar month (UTC).
 * @param now ms
 * @throws 400 when `to` is not after `from`
 */
export const windowOf = (
  given: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: number,
): Window => {
  const month = monthOf(now);
  const { from = month.from, to = month.to } = given;
  if (from < to) return { from, to };
  throw invalidAt('to', 'not_after_from', '`to` must be after `from`.');
};
