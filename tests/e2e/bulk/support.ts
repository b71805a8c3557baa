import { z } from 'zod';
import { eventually } from '../../support/server.ts';
import { uuid } from '../../support/shapes.ts';
import type { Member } from '../../support/world.ts';

/** The API of bulk sessions; strict, to detect additional keys. */

export const BULK = '/api/v1/tenant/bulk-ops';
export const SESSIONS = `${BULK}/sessions`;

const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const count = z.int().nonnegative();

const cascade = z.strictObject({
  by_entity: z.array(
    z.strictObject({
      entity_name: z.string(),
      action: z.enum(['delete', 'clear']),
      count: z.int().positive(),
    }),
  ),
  total: count,
});

const rowError = z.strictObject({
  record_id: z.string(),
  current_state: z.string(),
  code: z.enum([
    'record_not_found',
    'invalid_fsm_from_state',
    'guard_failed',
    'missing_required',
    'type_mismatch',
    'unknown_enum',
    'unknown_field',
    'selection_drift',
  ]),
  message: z.string().min(1),
});

export const session = z
  .strictObject({
    id: uuid,
    entity_name: z.string(),
    operation: z.enum(['edit', 'delete', 'transition']),
    selection: z.union([
      z.strictObject({ kind: z.literal('ids'), ids: z.array(z.string()) }),
      z.strictObject({
        kind: z.literal('filter'),
        filter_expr: z.union([z.string(), z.looseObject({})]),
        count_at_preview: count.optional(),
      }),
    ]),
    op_params: z.union([
      z.strictObject({
        kind: z.literal('edit'),
        fields: z.array(z.strictObject({ field_key: z.string(), new_value: z.unknown() })),
      }),
      z.strictObject({ kind: z.literal('delete') }),
      z.strictObject({ kind: z.literal('transition'), event_name: z.string() }),
    ]),
    status: z.enum(['previewed', 'committing', 'committed', 'errored', 'cancelled']),
    preview: z
      .strictObject({
        total_resolved: count,
        would_succeed: count,
        would_skip: count,
        would_error: count,
        cascade_summary: cascade.optional(),
        errors: z.array(rowError).max(1000),
        sample_affected: z
          .array(
            z.strictObject({
              record_id: z.string(),
              current_state: z.string(),
              before: z.record(z.string(), z.unknown()),
              after: z.record(z.string(), z.unknown()).nullable(),
            }),
          )
          .max(20),
      })
      .refine((all) => all.would_succeed + all.would_skip + all.would_error === all.total_resolved),
    result: z
      .strictObject({
        succeeded: count,
        skipped: count,
        errored: count,
        cascade_applied: cascade.optional(),
        committed_at: instant,
        not_processed: count.optional(),
      })
      .optional(),
    progress: z.strictObject({ processed: count, total: count }).optional(),
    count_at_preview: count.optional(),
    count_at_commit: count.optional(),
    created_by: z.string(),
    created_at: instant,
    committed_by: z.string().optional(),
    cancelled_at: instant.optional(),
  })
  .refine(({ status, result }) => (result !== undefined) === ['committed', 'errored'].includes(status))
  .refine(({ status, progress }) => (progress !== undefined) === (status === 'committing'))
  .refine(({ status, result }) => (result?.not_processed !== undefined) === (status === 'errored'))
  .refine(
    ({ status, result, preview }) =>
      status !== 'committed' ||
      (result?.succeeded ?? 0) + (result?.skipped ?? 0) + (result?.errored ?? 0) === preview.total_resolved,
  );
export const sessions = z.array(session);
export type Session = z.output<typeof session>;

export type Operation =
  | { readonly kind: 'edit'; readonly values: Readonly<Record<string, unknown>> }
  | { readonly kind: 'delete' }
  | { readonly kind: 'transition'; readonly event_name: string };

export const edit = (values: Readonly<Record<string, unknown>>): Operation => ({ kind: 'edit', values });
export const DELETE: Operation = { kind: 'delete' };
export const transition = (event_name: string): Operation => ({ kind: 'transition', event_name });

/** Selects records by ids, or by a filter in the text or the object form. */
export type Selected = readonly string[] | string | Filtered;
interface Filtered {
  readonly filter: unknown;
  readonly count?: number;
}

export const bodyOf = (entity_name: string, operation: Operation, selected: Selected) => ({
  entity_name,
  operation: operation.kind,
  selection: selectionOf(selected),
  op_params:
    operation.kind === 'edit'
      ? {
          kind: 'edit',
          fields: Object.entries(operation.values).map(([field_key, new_value]) => ({
            field_key,
            new_value,
          })),
        }
      : operation,
});

const isIds = (selected: Exclude<Selected, string>): selected is readonly string[] => Array.isArray(selected);

const selectionOf = (selected: Selected) => {
  if (typeof selected === 'string') return { kind: 'filter', filter_expr: selected };
  if (isIds(selected)) return { kind: 'ids', ids: selected };
  const { filter, count: counted } = selected;
  return {
    kind: 'filter',
    filter_expr: filter,
    ...(counted === undefined ? {} : { count_at_preview: counted }),
  };
};

export const preview = async (
  who: Member,
  entity: string,
  operation: Operation,
  selected: Selected,
): Promise<Session> =>
  (await who.api.post(`${BULK}/preview`, bodyOf(entity, operation, selected))).as(session, 201);

export const commit = (who: Member, id: string) => who.api.post(`${SESSIONS}/${id}/commit`);
export const cancel = (who: Member, id: string) => who.api.post(`${SESSIONS}/${id}/cancel`);

export const readSession = async (who: Member, id: string): Promise<Session> =>
  (await who.api.get(`${SESSIONS}/${id}`)).as(session);

/** Commits; waits for the end of a commit that was queued. */
export const committed = async (who: Member, id: string, withinMs = 90_000): Promise<Session> => {
  const answer = await commit(who, id);
  if (answer.status === 200) return answer.as(session);
  answer.as(session, 202);
  return ended(who, id, withinMs);
};

export const ended = (who: Member, id: string, withinMs = 90_000): Promise<Session> =>
  eventually(
    'the end of the session',
    async () => {
      const now = await readSession(who, id);
      return now.status === 'committing' ? undefined : now;
    },
    withinMs,
  );

/** `code record_id`, sorted. */
export const errorsOf = ({ preview: { errors } }: Session): string[] =>
  errors.map(({ code, record_id }) => `${code} ${record_id}`).sort();

/** Rows of errors.csv without the header. */
export const csvOf = async (who: Member, id: string): Promise<string[]> => {
  const answer = await who.api.get(`${SESSIONS}/${id}/errors.csv`);
  const [header, ...rows] = answer.text.split('\r\n');
  if (header !== 'record_id,current_state,code,message') throw new Error(`the header is ${header}`);
  if (rows.pop() !== '') throw new Error('the last line does not end');
  return rows;
};

/** Creates many records concurrently; returns them in order. */
export const createMany = async (
  who: Member,
  entity: string,
  count_: number,
  values: (i: number) => Readonly<Record<string, unknown>>,
): Promise<string[]> => {
  const made = z.looseObject({ id: uuid });
  const ids: string[] = new Array(count_);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < count_; i = next++) {
      const path = `/api/v1/tenant/entities/${entity}/records`;
      ids[i] = (await who.api.post(path, { values: values(i) })).as(made, 201).id;
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
  return ids;
};
