import {
  type RowRefusal,
  recordNotFound,
  refusalOfError,
  refusalOfTransition,
  withoutJob,
} from '../../domain/bulk/outcomes.ts';
import type { NewSession } from '../../domain/bulk/session.ts';
import type { Sample } from '../../domain/bulk/session-events.ts';
import type { JsonValue, Values } from '../../domain/entities/fields.ts';
import type { LiveRecord, RecordState } from '../../domain/entities/record.ts';
import type { Records } from '../entities/records.ts';
import type { Jobs } from '../workflow/jobs.ts';
import { inputOf, stateOf } from './row.ts';

/** The outcome that an operation would have on a record, decided by the command's own rules without writing. */
export type DryRun =
  | { readonly kind: 'succeeds'; readonly before: Values; readonly after: Values | null }
  | { readonly kind: 'skips' }
  | { readonly kind: 'refused'; readonly refusal: RowRefusal };

export interface DryRunRequest extends Pick<NewSession, 'entityName' | 'opParams' | 'createdBy'> {
  readonly tenantId: string;
}

const refused = (refusal: RowRefusal): DryRun => ({ kind: 'refused', refusal });

/** For a deletion, checks only the record itself; a `DeletionPlan` checks references for all rows together. */
export const dryRun = async (
  { records, jobs }: { readonly records: Records; readonly jobs: Jobs },
  { tenantId, entityName, opParams, createdBy }: DryRunRequest,
  state: RecordState,
): Promise<DryRun> => {
  if (state.status !== 'live' || state.entityName !== entityName) return refused(recordNotFound);
  switch (opParams.kind) {
    case 'edit':
      return dryRunEdit(records, tenantId, state, inputOf(opParams));
    case 'delete':
      return { kind: 'succeeds', before: state.values, after: null };
    case 'transition': {
      if (state.job === undefined) return refused(withoutJob);
      const actor = { id: createdBy, role: 'admin' } as const;
      const verdict = await jobs.check(tenantId, state, { eventName: opParams.event_name }, actor);
      if (verdict.kind === 'not_found') return refused(recordNotFound);
      if (verdict.kind === 'moves') {
        return { kind: 'succeeds', before: { state: state.job.state }, after: { state: verdict.edge.to } };
      }
      return refused(refusalOfTransition(verdict) ?? recordNotFound);
    }
    default:
      return opParams satisfies never;
  }
};

const dryRunEdit = async (
  records: Records,
  tenantId: string,
  state: LiveRecord,
  values: Readonly<Record<string, JsonValue>>,
): Promise<DryRun> => {
  try {
    const [event] = await records.preview(tenantId, state.entityName, state, values);
    if (event?.type !== 'RecordUpdated') return { kind: 'skips' };
    const { changed, values: after } = event.data;
    return { kind: 'succeeds', before: only(changed, state.values), after: only(changed, after) };
  } catch (error) {
    const refusal = refusalOfError(error);
    if (refusal === undefined) throw error;
    return refused(refusal);
  }
};

/** The values of the fields `keys`; null for a field without a value. */
const only = (keys: readonly string[], values: Values): Values =>
  Object.fromEntries(keys.map((key) => [key, (Object.hasOwn(values, key) ? values[key] : null) ?? null]));

export const sampleOf = (
  recordId: string,
  state: RecordState,
  result: Extract<DryRun, { kind: 'succeeds' }>,
): Sample => ({
  record_id: recordId,
  current_state: stateOf(state),
  before: { ...result.before },
  after: result.after === null ? null : { ...result.after },
});
