/** An entry that is due at a time; `seq` orders entries due at the same time. */
export interface Timed {
  at: number;
  seq: number;
}

const isBefore = (a: Timed, b: Timed): boolean => a.at < b.at || (a.at === b.at && a.seq < b.seq);

/** A binary heap of entries by time. */
export class TimeHeap<Entry extends Timed> {
  readonly #entries: Entry[] = [];

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  push(entry: Entry): void {
    const entries = this.#entries;
    let at = entries.push(entry) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = entries[up];
      if (parent === undefined || !isBefore(entry, parent)) break;
      entries[at] = parent;
      at = up;
    }
    entries[at] = entry;
  }

  pop(): Entry | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (last === undefined || entries.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const [left, right] = [entries[child], entries[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right, left)) child += 1;
      const least = entries[child];
      if (least === undefined || !isBefore(least, last)) break;
      entries[at] = least;
      at = child;
    }
    entries[at] = last;
    return first;
  }
}
