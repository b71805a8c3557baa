import type { Frozen } from './frozen-rows.ts';

/**
 * Hands out the rows of a commit in frozen order. A row whose deletion another record prevents is put back until that
 * record's row, if it has one, is done. When all rows that are left were put back, they are tried again in rounds.
 * After a round that deletes no row, the last round gives the rows a final result.
 */
export class RowQueue {
  /** Ids of records. */
  readonly #rows: readonly string[];
  /** 1 for each row with a final result; the queue updates it. */
  readonly #doneRows: Uint8Array;
  #next = 0;
  readonly #ready: number[] = [];
  /** Rows by the row that they wait for. */
  readonly #waiting = new Map<number, number[]>();
  #postponed: number[] = [];
  #index: ReadonlyMap<string, number> | undefined;
  #underWay = 0;
  /** Counts deleted rows, each of which may allow the deletion of other rows. */
  #deleted = 0;
  /** `#deleted` at the start of the latest round. */
  #deletedBefore = -1;
  #isLastRound = false;

  constructor({ rows, doneRows }: Pick<Frozen, 'rows' | 'doneRows'>) {
    this.#rows = rows;
    this.#doneRows = doneRows;
  }

  /** Undefined when no row is ready now, or none is left. */
  take(): number | undefined {
    const row = this.#ready.pop() ?? this.#unseen();
    if (row !== undefined) {
      this.#underWay += 1;
      return row;
    }
    if (this.#underWay > 0) return undefined;
    const back = [...this.#postponed, ...[...this.#waiting.values()].flat()];
    if (back.length === 0) return undefined;
    this.#isLastRound = this.#deleted === this.#deletedBefore;
    this.#deletedBefore = this.#deleted;
    this.#postponed = [];
    this.#waiting.clear();
    this.#ready.push(...back.toReversed());
    return this.take();
  }

  /** Records the final result of a row. */
  done(row: number, isDeleted: boolean): void {
    this.#underWay -= 1;
    this.#doneRows[row] = 1;
    if (isDeleted) {
      this.#deleted += 1;
      this.#isLastRound = false;
    }
    const waiting = this.#waiting.get(row);
    if (waiting === undefined) return;
    this.#waiting.delete(row);
    this.#ready.push(...waiting);
  }

  /** Puts a row back; false in the last round, when no other row can allow its deletion any more. */
  putBack(row: number, blockedBy: string): boolean {
    if (this.#isLastRound) return false;
    this.#underWay -= 1;
    this.#index ??= new Map(this.#rows.map((id, i) => [id, i]));
    const other = this.#index.get(blockedBy);
    if (other === undefined || this.#doneRows[other] === 1) this.#postponed.push(row);
    else {
      const waiting = this.#waiting.get(other);
      if (waiting === undefined) this.#waiting.set(other, [row]);
      else waiting.push(row);
    }
    return true;
  }

  /** Rows without a final result. */
  *left(): Iterable<number> {
    for (let row = 0; row < this.#rows.length; row += 1) if (this.#doneRows[row] !== 1) yield row;
  }

  #unseen(): number | undefined {
    while (this.#next < this.#rows.length && this.#doneRows[this.#next] === 1) this.#next += 1;
    if (this.#next >= this.#rows.length) return undefined;
    this.#next += 1;
    return this.#next - 1;
  }
}
