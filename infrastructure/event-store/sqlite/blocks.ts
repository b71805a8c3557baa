import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Selection } from '../../../application/ports/event-filter.ts';
import type { TypeNames } from './names.ts';

/** Positions `n * BLOCK` to `n * BLOCK + BLOCK - 1` are block n. */
const BLOCK = 1024;
/** Events that a filtered step scans, which takes a few milliseconds. */
export const WINDOW = 4 * BLOCK;
const OWNER_END = '.';

/**
 * A coarse index of the types and owners (the part of a stream's name before the first dot: the tenant) in each block
 * of 1,024 positions. A filtered read skips blocks without a match. An append writes a row only for a type or owner
 * that is new in the block; an index by type would need a row for each event.
 */
export class Blocks {
  readonly #types: TypeNames;
  readonly #noted = new Set<string | number>();
  #notedBlock = -1;
  readonly #noteType: StatementSync;
  readonly #noteOwner: StatementSync;
  readonly #nextOfType: StatementSync;
  readonly #previousOfType: StatementSync;
  readonly #nextOfOwner: StatementSync;
  readonly #previousOfOwner: StatementSync;

  constructor(db: DatabaseSync, types: TypeNames) {
    this.#types = types;
    const note = (table: string, key: string) =>
      db.prepare(`INSERT OR IGNORE INTO ${table} (${key}, block) VALUES (?, ?)`);
    const next = (table: string, key: string) =>
      db.prepare(`SELECT min(block) AS block FROM ${table} WHERE ${key} = ? AND block >= ?`);
    const previous = (table: string, key: string) =>
      db.prepare(`SELECT max(block) AS block FROM ${table} WHERE ${key} = ? AND block <= ?`);
    this.#noteType = note('type_blocks', 'type_id');
    this.#noteOwner = note('owner_blocks', 'owner');
    this.#nextOfType = next('type_blocks', 'type_id');
    this.#previousOfType = previous('type_blocks', 'type_id');
    this.#nextOfOwner = next('owner_blocks', 'owner');
    this.#previousOfOwner = previous('owner_blocks', 'owner');
  }

  /** Registers an event; called inside a write transaction. */
  note(position: number, typeId: number, stream: string): void {
    const block = Math.floor(position / BLOCK);
    if (block !== this.#notedBlock) this.forget();
    this.#notedBlock = block;
    if (!this.#noted.has(typeId)) {
      this.#noted.add(typeId);
      this.#noteType.run(typeId, block);
    }
    const owner = ownerOf(stream);
    if (owner !== undefined && !this.#noted.has(owner)) {
      this.#noted.add(owner);
      this.#noteOwner.run(owner, block);
    }
  }

  /** Clears the cache after a rollback, which has removed rows that the cache counts as written. */
  forget(): void {
    this.#noted.clear();
  }

  /**
   * The first position from `position` on (forward), or the last up to it (backward), in a block that can match;
   * undefined when there is none.
   */
  skip(position: number, selection: Selection, forward: boolean): number | undefined {
    const block = Math.floor(position / BLOCK);
    let found: number | undefined = block;
    const owner = selection.prefix === undefined ? undefined : ownerOf(selection.prefix);
    if (owner !== undefined) {
      const statement = forward ? this.#nextOfOwner : this.#previousOfOwner;
      found = blockOf(statement, owner, found);
    }
    if (found !== undefined && selection.types !== undefined) {
      found = this.#skipByType(found, selection.types, forward);
    }
    if (found === undefined || found === block) return found === undefined ? undefined : position;
    return forward ? found * BLOCK : found * BLOCK + BLOCK - 1;
  }

  #skipByType(block: number, types: ReadonlySet<string>, forward: boolean): number | undefined {
    const statement = forward ? this.#nextOfType : this.#previousOfType;
    let best: number | undefined;
    for (const name of types) {
      const id = this.#types.find(name);
      const found = id === undefined ? undefined : blockOf(statement, id, block);
      if (found === block) return block;
      if (found !== undefined && (best === undefined || found < best === forward)) best = found;
    }
    return best;
  }
}

function blockOf(statement: StatementSync, key: string | number, from: number): number | undefined {
  const block = statement.get(key, from)?.block;
  return typeof block === 'number' ? block : undefined;
}

/** Undefined for a name without a dot, whose events only a full scan finds. */
function ownerOf(name: string): string | undefined {
  const end = name.indexOf(OWNER_END);
  return end < 0 ? undefined : name.slice(0, end);
}
