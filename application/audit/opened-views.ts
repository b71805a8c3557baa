import type { EventDefinition } from '../../domain/core/event.ts';
import { ERASED, type KeyRing, sealedKeyId } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { StoredEvent } from '../ports/event-store.ts';

/** Shown in place of a credential. */
const SECRET = '[secret]';
/** Shown in place of a personal text that is not validly sealed; a check of the hash chain finds the damaged event. */
const UNREADABLE = '[unreadable]';

type View = Readonly<Record<string, unknown>> | null;

/** A stored event as auditors read it; a view is null when the stored text is not a JSON object. */
export interface OpenedEvent {
  readonly stored: StoredEvent;
  readonly data: View;
  readonly metadata: View;
  /** Whether `data` is the unchanged content of the stored text. */
  readonly asStored: boolean;
}

/** Events whose keys are loaded together; few, so that they do not evict keys that requests use. */
const KEYS_AT_ONCE = 256;

/**
 * Opens the personal fields that event definitions name. Other text that looks sealed is not opened, since a user may
 * have typed it.
 */
export class OpenedViews extends WithDeps<{
  readonly catalogue: readonly EventDefinition[];
  readonly keys: KeyRing;
}> {
  readonly #definitions = new Map(this.deps.catalogue.map((definition) => [definition.type, definition]));

  /** Opens events, in order. @throws {StoreUnavailable} when the keys cannot be read */
  async open(events: readonly StoredEvent[]): Promise<OpenedEvent[]> {
    const opened: OpenedEvent[] = [];
    for (let at = 0; at < events.length; at += KEYS_AT_ONCE) {
      const sealed: SealedField[] = [];
      for (const stored of events.slice(at, at + KEYS_AT_ONCE)) opened.push(this.#read(stored, sealed));
      await this.deps.keys.load(sealed.map(({ text }) => sealedKeyId(text)));
      for (const { data, field, text } of sealed) data[field] = this.#textOf(text);
    }
    return opened;
  }

  /** Reads an event, and adds to `sealed` its fields that must be opened. */
  #read(stored: StoredEvent, sealed: SealedField[]): OpenedEvent {
    const data = objectOf(stored.data);
    const definition = this.#definitions.get(stored.type);
    let asStored = true;
    if (definition !== undefined && data !== null) {
      for (const field of Object.keys(definition.personal)) {
        const text = data[field];
        if (typeof text !== 'string') continue;
        asStored = false;
        const isSecret = definition.secret.includes(field);
        if (!isSecret && isSealed(text, stored.stream)) sealed.push({ data, field, text });
        else data[field] = isSecret ? SECRET : UNREADABLE;
      }
    }
    return { stored, data, metadata: objectOf(stored.metadata), asStored };
  }

  /** Opens a sealed text whose key is loaded. */
  #textOf(sealed: string): string {
    try {
      return this.deps.keys.openLoaded(sealed) ?? ERASED;
    } catch {
      // The sealed bytes were changed.
      return UNREADABLE;
    }
  }
}

interface SealedField {
  readonly data: Record<string, unknown>;
  readonly field: string;
  readonly text: string;
}

/**
 * Whether a text is sealed for the stream's tenant. Without this check, a tampered log could open texts of another
 * tenant.
 */
const isSealed = (text: string, stream: string): boolean =>
  text.startsWith(`v1:${stream.slice(0, stream.indexOf('.'))}/`) && text.lastIndexOf(':') > 3;

export const objectOf = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    // Checked above.
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
};

/** One line of an export (docs/audit-format.md), with members in this order. A view is the stored text if possible. */
export const exportLine = ({ stored, data, metadata, asStored }: OpenedEvent): string => {
  const { position, stream, revision, id, type } = stored;
  const view = asStored ? viewText(data, stored.data) : JSON.stringify(data);
  return (
    `${JSON.stringify({ position, stream, revision, id, type }).slice(0, -1)},"data":${view},` +
    `"metadata":${viewText(metadata, stored.metadata)},` +
    `"sealed":${JSON.stringify({ data: stored.data, metadata: stored.metadata })}}\n`
  );
};

/** The stored text if it is a JSON object in one line; otherwise, for a tampered event, the view as JSON. */
const viewText = (view: View, stored: string): string =>
  view === null || stored.includes('\n') ? JSON.stringify(view) : stored;
