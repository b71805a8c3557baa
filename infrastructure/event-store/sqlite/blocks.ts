import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Selection } from '../../../application/ports/event-filter.ts';
import type { TypeNames } from './names.ts';

/** Positions `n * BLOCK` to `n * BLOCK + BLOCK - 1` are block n. */
export const BLOCK = 1024;
/** Positions that a filtered step scans; more in an imported log, whose positions have gaps. */
export const WINDOW = 4 * BLOCK;
const OWNER_END = '.';

/**
 * A coarse index of the event types and owners (tenants) in each block, so that filtered reads skip blocks without a
 * match. An append writes a row only for a type or owner that is new in the block, not for each event.
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

  /** Clears the cache of written rows: at a new block, and after a rollback, which removes such rows. */
  forget(): void {
    this.#noted.clear();
  }

  /** The position to which a scan from `position` can skip without missing a match; undefined if no block can match. */
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

/** The part before the first dot: the tenant. Undefined without a dot: no block is then skipped by owner. */
function ownerOf(name: string): string | undefined {
  const end = name.indexOf(OWNER_END);
  return end < 0 ? undefined : name.slice(0, end);
}
