import { recordNotFound, selectionDrift } from '../../domain/bulk/outcomes.ts';
import {
  type LiveRecord,
  type RecordEvent,
  type RecordState,
  recordStream,
} from '../../domain/entities/record.ts';
import {
  type LinkFacts,
  resolve,
  type SchemaView,
  updateRecord,
} from '../../domain/entities/record-values.ts';
import type { CommandContext, StreamCommand } from '../core/commands/command.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { WriterGate } from '../core/commands/writer-gate.ts';
import type { Records } from '../entities/records.ts';
import { type Schemas, writersOf } from '../entities/schemas.ts';
import type { Ids } from '../ports/clock.ts';
import {
  type CommitRun,
  errored,
  isSelected,
  RowOperation,
  type RowResult,
  refused,
  refuseMixUp,
  type SettledRow,
  stateOf,
  versionOf,
} from './row.ts';

type Input = Readonly<Record<string, unknown>>;

export interface RowEditsDeps {
  readonly streams: Streams;
  readonly schemas: Schemas;
  readonly writers: WriterGate;
  readonly records: Records;
  readonly ids: Ids;
}

/** Edits all rows in one group commit; rows whose values refer to other records follow as single commands. */
export class RowEdits extends RowOperation<RowEditsDeps> {
  readonly #values: Input;

  constructor(deps: RowEditsDeps, run: CommitRun, values: Input) {
    super(deps, run);
    this.#values = values;
  }

  protected override async applyAll(ids: readonly string[]): Promise<readonly SettledRow[]> {
    const { tenantId, entityName } = this.run;
    const edits = ids.map((id) => new RowEdit(this.run, id, this.#values, this.contextOf(id)));
    try {
      const settled = await this.deps.writers.within(writersOf(tenantId, entityName), () =>
        this.deps.streams.executeAll(recordStream, tenantId, edits, {
          passing: true,
          prepare: () => this.deps.schemas.fresh(tenantId, entityName),
        }),
      );
      return await Promise.allSettled(
        edits.map(async (edit, at): Promise<RowResult> => {
          const outcome = settled[at];
          if (outcome?.status !== 'fulfilled') return refused(outcome?.reason, edit.seen);
          const { events, position } = outcome.value;
          if (events.length > 0) return { kind: 'succeeded', position };
          return edit.linking === undefined
            ? (edit.refusal ?? { kind: 'skipped' })
            : this.#editLinked(edit.linking);
        }),
      );
    } catch (reason) {
      return ids.map(() => ({ status: 'rejected', reason }));
    }
  }

  /** Edits one row, which registers its references first (decision 11). */
  async #editLinked(state: LiveRecord): Promise<RowResult> {
    const { tenantId, entityName } = this.run;
    const command = { values: this.#values, ifVersion: versionOf(this.run, state) };
    const context = this.contextOf(state.id);
    try {
      const edited = await this.deps.records.update(tenantId, entityName, state.id, command, context);
      return edited.changed ? { kind: 'succeeded', position: edited.position } : { kind: 'skipped' };
    } catch (thrown) {
      return refused(thrown, state);
    }
  }
}

const NO_LINKS: LinkFacts = { missing: new Set(), registrations: {} };

/** The edit of one row as a command, with the reason why its last decision wrote nothing. */
class RowEdit implements StreamCommand<RecordState, RecordEvent, SchemaView> {
  readonly id: string;
  readonly context: CommandContext;
  readonly #run: CommitRun;
  readonly #values: Input;
  seen: LiveRecord | undefined;
  refusal: RowResult | undefined;
  /** Set when the values refer to other records; such an edit needs a command of its own. */
  linking: LiveRecord | undefined;

  constructor(run: CommitRun, id: string, values: Input, context: CommandContext) {
    this.#run = run;
    this.id = id;
    this.#values = values;
    this.context = context;
  }

  readonly decide = (state: RecordState, _at: unknown, schema: SchemaView): readonly RecordEvent[] => {
    this.seen = undefined;
    this.refusal = undefined;
    this.linking = undefined;
    refuseMixUp(state, this.id);
    if (state.status !== 'live' || state.entityName !== this.#run.entityName) {
      this.refusal = errored(recordNotFound, '');
      return [];
    }
    this.seen = state;
    if (!isSelected(this.#run, state)) {
      this.refusal = errored(selectionDrift, stateOf(state));
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
