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
import type { StreamCommand } from '../core/commands/command.ts';
import { writersOf } from '../entities/schemas.ts';
import {
  type EditParams,
  errored,
  expectedVersion,
  inputOf,
  isSelected,
  RowOperation,
  type RowResult,
  refused,
  refuseMixUp,
  type SettledRow,
  stateOf,
} from './row.ts';

/** The command that edits one row. Its last decision sets the state that it saw, and the reason if it wrote nothing. */
interface RowEdit extends StreamCommand<RecordState, RecordEvent, SchemaView> {
  seen?: LiveRecord | undefined;
  refusal?: RowResult | undefined;
  /** Set when the values refer to records or users; the edit then needs a separate command. */
  recordToLink?: LiveRecord | undefined;
}

const NO_LINKS: LinkFacts = { missing: new Set(), registrations: {} };

/** Edits a batch of rows in one group commit; rows whose values refer to records or users follow as single commands. */
export class RowEdits extends RowOperation<EditParams> {
  readonly #values = inputOf(this.deps.params);

  protected override async applyKnown(ids: readonly string[]): Promise<readonly SettledRow[]> {
    const { tenantId, entityName } = this.deps.run;
    const edits = ids.map((id) => this.#editOf(id));
    try {
      const settled = await this.deps.writers.within(writersOf(tenantId, entityName), () =>
        this.deps.streams.executeAll(recordStream, tenantId, edits, {
          uncached: true,
          prepare: () => this.deps.schemas.requireLatest(tenantId, entityName),
        }),
      );
      return await Promise.allSettled(
        edits.map(async (edit, at): Promise<RowResult> => {
          const outcome = settled[at];
          if (outcome?.status !== 'fulfilled') return refused(outcome?.reason, edit.seen);
          const { events, position } = outcome.value;
          if (events.length > 0) return { kind: 'succeeded', position };
          return edit.recordToLink === undefined
            ? (edit.refusal ?? { kind: 'skipped' })
            : this.#editLinked(edit.recordToLink);
        }),
      );
    } catch (reason) {
      return ids.map(() => ({ status: 'rejected', reason }));
    }
  }

  #editOf(id: string): RowEdit {
    const edit: RowEdit = {
      id,
      context: this.contextOf(id),
      decide: (state, _at, schema) => {
        edit.seen = undefined;
        edit.refusal = undefined;
        edit.recordToLink = undefined;
        refuseMixUp(state, id);
        if (state.status !== 'live' || state.entityName !== this.deps.run.entityName) {
          edit.refusal = errored(recordNotFound, '');
          return [];
        }
        edit.seen = state;
        if (!isSelected(this.deps.run, state)) {
          edit.refusal = errored(selectionDrift, stateOf(state));
          return [];
        }
        const resolved = resolve(schema.fields, state.values, this.#values);
        if (resolved.links.length > 0) {
          edit.recordToLink = state;
          return [];
        }
        return updateRecord(state, schema, { values: this.#values }, NO_LINKS, resolved);
      },
    };
    return edit;
  }

  /** Edits one row by a single command, which registers the references first (decision 11). */
  async #editLinked(state: LiveRecord): Promise<RowResult> {
    const { tenantId, entityName } = this.deps.run;
    const command = { values: this.#values, ifVersion: expectedVersion(this.deps.run, state) };
    const context = this.contextOf(state.id);
    try {
      const edited = await this.deps.records.update(tenantId, entityName, state.id, command, context);
      return edited.changed ? { kind: 'succeeded', position: edited.position } : { kind: 'skipped' };
    } catch (thrown) {
      return refused(thrown, state);
    }
  }
}
