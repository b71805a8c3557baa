import type { EventDefinition } from '../../domain/core/event.ts';
import { ERASED, type KeyRing, sealedKeyId } from '../core/privacy/key-ring.ts';
import type { StoredEvent } from '../ports/event-store.ts';

/** What stands where a credential is: its sealed form is in `sealed`, its text is shown to nobody. */
export const SECRET = '[secret]';
/** What stands where a sealed text is damaged: the chain says which event that is. */
export const UNREADABLE = '[unreadable]';

export type View = Readonly<Record<string, unknown>> | null;

/** The JSON of a stored event as auditors read it; null where the stored text is no JSON object any more. */
export interface OpenedEvent {
  readonly stored: StoredEvent;
  readonly data: View;
  readonly metadata: View;
  /** True when `data` is exactly what is stored. */
  readonly asStored: boolean;
}

/** So many keys are asked for together; texts of people who read at the same time must not be pushed out of memory. */
const KEYS_AT_ONCE = 256;

/**
 * Opens the personal fields of stored events, as their definitions name them. Nothing else is ever opened: a text that
 * only looks like a sealed one may be what somebody typed in.
 */
export class OpenedViews {
  readonly #keys: KeyRing;
  readonly #definitions: ReadonlyMap<string, EventDefinition>;

  constructor(catalogue: readonly EventDefinition[], keys: KeyRing) {
    this.#keys = keys;
    this.#definitions = new Map(
      catalogue
        .filter(({ personal }) => Object.keys(personal).length > 0)
        .map((definition) => [definition.type, definition]),
    );
  }

  /** In their order. @throws {StoreUnavailable} when the keys cannot be read */
  async open(events: readonly StoredEvent[]): Promise<OpenedEvent[]> {
    const opened: OpenedEvent[] = [];
    for (let at = 0; at < events.length; at += KEYS_AT_ONCE) {
      const part = events.slice(at, at + KEYS_AT_ONCE).map((stored) => this.#read(stored));
      await this.#keys.load(part.flatMap(({ sealed }) => Object.values(sealed).map(sealedKeyId)));
      for (const event of part) opened.push(this.#opened(event));
    }
    return opened;
  }

  #read(stored: StoredEvent): Read {
    const data = objectOf(stored.data);
    const sealed: Record<string, string> = {};
    const definition = this.#definitions.get(stored.type);
    let asStored = true;
    if (definition !== undefined && data !== null) {
      for (const field of Object.keys(definition.personal)) {
        const value = data[field];
        if (typeof value !== 'string') continue;
        asStored = false;
        if (!definition.secret.includes(field) && isSealed(value, stored.stream)) sealed[field] = value;
        else data[field] = definition.secret.includes(field) ? SECRET : UNREADABLE;
      }
    }
    return { stored, data, metadata: objectOf(stored.metadata), asStored, sealed };
  }

  #opened({ sealed, data, ...event }: Read): OpenedEvent {
    if (data !== null) {
      for (const [field, value] of Object.entries(sealed)) data[field] = this.textOf(value);
    }
    return { ...event, data };
  }

  /** Of a sealed text whose key was loaded. */
  textOf(sealed: string): string {
    try {
      return this.#keys.openLoaded(sealed) ?? ERASED;
    } catch {
      // Its bytes are not those that were sealed.
      return UNREADABLE;
    }
  }
}

interface Read {
  readonly stored: StoredEvent;
  readonly data: Record<string, unknown> | null;
  readonly metadata: View;
  readonly asStored: boolean;
  /** Field → sealed text. */
  readonly sealed: Readonly<Record<string, string>>;
}

/** A text sealed for the stream's own tenant: a changed log must not make this open what is another's. */
export const isSealed = (text: string, stream: string): boolean => isSealedFor(text, sealedFor(stream));

/** What a text begins with that is sealed for the tenant of a stream. */
export const sealedFor = (stream: string): string => `v1:${stream.slice(0, stream.indexOf('.'))}/`;

export const isSealedFor = (text: string, beginning: string): boolean =>
  text.startsWith(beginning) && text.lastIndexOf(':') > 3;

export const objectOf = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    // Checked right here to be an object of JSON.
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
};
