import type { LiveRecord } from '../../domain/entities/record.ts';
import { matches } from '../../domain/expressions/filter.ts';
import type { RowJob } from './row-job.ts';

/** Whether a record is still one of those that the session selected. */
export const isSelected = ({ selectedBy }: RowJob, record: LiveRecord): boolean =>
  selectedBy === undefined || matches(selectedBy.filter, shown(record), selectedBy.now);

/** As filters look at it. */
const shown = (record: LiveRecord) => ({
  id: record.id,
  state: record.job?.state ?? null,
  // Few filters ask for times.
  get created_at() {
    return new Date(record.createdAt).toISOString();
  },
  get updated_at() {
    return new Date(record.updatedAt).toISOString();
  },
  values: record.values,
});
