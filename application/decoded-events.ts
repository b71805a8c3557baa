import type { StoredEvent } from './ports/event-store.ts';

class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: so that a class which extends this one puts its fields on the object
    return object;
  }
}

/**
 * What a stored event was decoded to, in a private field of the event itself: it goes when the event goes, and nobody else
 * sees it. A WeakMap says the same; but it kept what it was given over a collection of the young objects, so that nearly all of it
 * grew old, and had to be marked: 6 of the 76 µs of CPU that a row of a bulk edit takes.
 */
export class DecodedEvent extends Given {
  /** Of whoever decoded it: another codec may know other types. */
  #by: object;
  #event: unknown;

  private constructor(stored: StoredEvent, by: object, event: unknown) {
    super(stored);
    this.#by = by;
    this.#event = event;
  }

  /** What that one noted. */
  static of(stored: StoredEvent, by: object): unknown {
    return #event in stored && stored.#by === by ? stored.#event : undefined;
  }

  static note(stored: StoredEvent, by: object, event: unknown): void {
    if (#event in stored) {
      stored.#by = by;
      stored.#event = event;
    } else new DecodedEvent(stored, by, event);
  }
}
