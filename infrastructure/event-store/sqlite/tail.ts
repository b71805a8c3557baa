import type { StoredEvent } from '../../../application/ports/event-store.ts';
import { MEMORY } from '../../../application/ports/memory.ts';

/** UTF-16 units of data and metadata that the tail may hold; a unit takes one byte for Latin text, else two. */
const MAX_UNITS = MEMORY.tail.maxBytes / 2;

/**
 * The last events of the log in memory, without a gap. Live subscribers are served from here, all with the same
 * objects, because consumers remember the decoding of an event by its identity.
 */
export class Tail {
  readonly #count: number;
  readonly #slots: (StoredEvent | undefined)[];
  #first = 1;
  /** The position after the last. */
  #end = 1;
  #units = 0;

  /** @param count how many events it holds at most */
  constructor(count: number) {
    this.#count = count;
    this.#slots = new Array(count);
  }

  /** The first position that is not held yet: where the next event must go. */
  get end(): number {
    return this.#end;
  }

  /** The first position that is held, or will be. */
  get first(): number {
    return this.#first;
  }

  get isEmpty(): boolean {
    return this.#first === this.#end;
  }

  get(position: number): StoredEvent | undefined {
    return this.holds(position) ? this.#slots[position % this.#count] : undefined;
  }

  holds(position: number): boolean {
    return position >= this.#first && position < this.#end;
  }

  /** Takes the event at `position`; one that does not follow the last starts the tail anew. */
  push(position: number, event: StoredEvent): void {
    if (position !== this.#end) this.restart(position);
    if (this.#end - this.#first === this.#count) this.#dropFirst();
    this.#slots[position % this.#count] = event;
    this.#end += 1;
    this.#units += unitsOf(event);
    while (this.#units > MAX_UNITS && this.#end - this.#first > 1) this.#dropFirst();
  }

  /** Forgets everything; the next event is expected at `position`. */
  restart(position: number): void {
    this.#slots.fill(undefined);
    this.#first = position;
    this.#end = position;
    this.#units = 0;
  }

  #dropFirst(): void {
    const slot = this.#first % this.#count;
    const event = this.#slots[slot];
    if (event) this.#units -= unitsOf(event);
    this.#slots[slot] = undefined;
    this.#first += 1;
  }
}

function unitsOf(event: StoredEvent): number {
  return event.data.length + event.metadata.length;
}
