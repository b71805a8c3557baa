import { recordNotFound, selectionDrift } from '../../domain/bulk/outcomes.ts';
import type { LiveRecord, RecordEvent, RecordState } from '../../domain/entities/record.ts';
import {
  type LinkFacts,
  resolve,
  type SchemaView,
  updateRecord,
} from '../../domain/entities/record-values.ts';
import type { CommandContext, StreamCommand } from '../core/commands/command.ts';
import { stateOf } from './dry-run.ts';
import { isSelected, type RowJob } from './row-job.ts';
import { error, type RowResult, refuseMixUp } from './row-result.ts';

export type Input = Readonly<Record<string, unknown>>;

const NO_LINKS: LinkFacts = { missing: new Set(), registrations: {} };

/** The edit of one row as a command, with the reason why its last decision wrote nothing. */
export class RowEdit implements StreamCommand<RecordState, RecordEvent, SchemaView> {
  readonly id: string;
  readonly context: CommandContext;
  readonly #job: RowJob;
  readonly #values: Input;
  seen: LiveRecord | undefined;
  refusal: RowResult | undefined;
  /** Set when the values refer to other records; such an edit needs a command of its own. */
  linking: LiveRecord | undefined;

  constructor(job: RowJob, id: string, values: Input, context: CommandContext) {
    this.#job = job;
    this.id = id;
    this.#values = values;
    this.context = context;
  }

  readonly decide = (state: RecordState, _at: unknown, schema: SchemaView): readonly RecordEvent[] => {
    this.seen = undefined;
    this.refusal = undefined;
    this.linking = undefined;
    refuseMixUp(state, this.id);
    if (state.status !== 'live' || state.entityName !== this.#job.entityName) {
      this.refusal = error(recordNotFound, '');
      return [];
    }
    this.seen = state;
    if (!isSelected(this.#job, state)) {
      this.refusal = error(selectionDrift, stateOf(state));
      return [];
    }
    const resolved = resolve(schema.fields, state.values, this.#values);
    if (resolved.links.length > 0) {
      this.linking = state;
      return [];
    }
    return updateRecord(state, schema, { values: this.#values }, NO_LINKS, resolved);
  };
}
