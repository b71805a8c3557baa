import { z } from 'zod';
import { timeSlices } from '../../../application/core/concurrency/time-slices.ts';
import { MAX_ROWS } from '../../../domain/bulk/session.ts';
import { invalidAt } from '../../../domain/core/errors.ts';
import { isStorableText } from '../../../domain/core/text.ts';

/** The ids that a preview names: up to 200,000, checked in slices. */

/** Maximum of ids in a request, repetitions included. */
export const MAX_GIVEN_IDS = 2 * MAX_ROWS;
const MAX_ID = 1000;
/** Ids that are checked between two pauses. */
const IDS_PER_STEP = 1024;

/** Keeps a malformed id as a row without a record; replaces only characters that not every store can hold. */
const rowIdOf = (id: string): string =>
  isStorableText(id) ? id : id.toWellFormed().replaceAll('\u0000', '\ufffd');

/** Checks that the value is a list, and its length: {@link checkedIds} checks the ids, in slices. */
export const rowIds = z
  .unknown()
  .transform((ids, context): readonly unknown[] => {
    if (Array.isArray(ids) && ids.length > 0 && ids.length <= MAX_GIVEN_IDS) return ids;
    if (!Array.isArray(ids)) context.issues.push({ code: 'invalid_type', expected: 'array', input: ids });
    else if (ids.length === 0)
      context.issues.push({ code: 'too_small', origin: 'array', minimum: 1, inclusive: true, input: ids });
    else {
      const maximum = MAX_GIVEN_IDS;
      context.issues.push({ code: 'too_big', origin: 'array', maximum, inclusive: true, input: ids });
    }
    return z.NEVER;
  })
  .meta({ override: { type: 'array', minItems: 1, items: { type: 'string', maxLength: MAX_ID } } });

/** Stops at the first wrong id, because a list could have 200,000 wrong ids. @throws {DomainError} 400 */
export const checkedIds = async (tenantId: string, ids: readonly unknown[]): Promise<readonly string[]> => {
  const slice = timeSlices.of(tenantId, 'checkRowIds');
  const rows: string[] = [];
  for (const [at, id] of ids.entries()) {
    if (at % IDS_PER_STEP === 0 && slice.isOver) await slice.next();
    if (typeof id !== 'string' || id.length > MAX_ID) {
      const message = `Each id must be a string of at most ${MAX_ID} characters.`;
      throw invalidAt(`selection.ids.${at}`, 'custom', message);
    }
    rows.push(rowIdOf(id));
  }
  return rows;
};
