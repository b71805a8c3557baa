import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { numberOf, textOf } from '../../sqlite/connection.ts';

/** Caches the `types` table, which holds a few hundred names and only grows. */
export class TypeNames {
  readonly #ids = new Map<string, number>();
  readonly #names = new Map<number, string>();
  readonly #insert: StatementSync;
  readonly #byName: StatementSync;
  readonly #byId: StatementSync;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare('INSERT INTO types (name) VALUES (?)');
    this.#byName = db.prepare('SELECT id FROM types WHERE name = ?');
    this.#byId = db.prepare('SELECT name FROM types WHERE id = ?');
  }

  /** Adds the name if needed; called inside a write transaction. */
  idFor(name: string): number {
    return this.find(name) ?? this.#keep(Number(this.#insert.run(name).lastInsertRowid), name);
  }

  /** Undefined for a type without events. */
  find(name: string): number | undefined {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const row = this.#byName.get(name);
    return row && this.#keep(numberOf(row, 'id'), name);
  }

  nameOf(id: number): string {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const name = textOf(this.#byId.get(id), 'name');
    this.#keep(id, name);
    return name;
  }

  /** Clears the cache after a rollback, which may have removed names. */
  clear(): void {
    this.#ids.clear();
    this.#names.clear();
  }

  #keep(id: number, name: string): number {
    this.#ids.set(name, id);
    this.#names.set(id, name);
    return id;
  }
}
