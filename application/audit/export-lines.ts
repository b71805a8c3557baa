import type { EventDefinition } from '../../domain/event.ts';
import type { StoredEvent } from '../ports/event-store.ts';
import { ERASED, type KeyRing, sealedKeyId } from '../sealing.ts';
import { exportLine } from './line.ts';
import { LineBuffers } from './line-buffers.ts';
import { plainMetadata } from './metadata-text.ts';
import { isSealed, OpenedViews, objectOf, SECRET, UNREADABLE } from './opened-views.ts';

/** So many keys are asked for together: no more than are kept in memory. */
const KEYS_AT_ONCE = 512;

/** A piece of a line: a text, or a sealed one that has to be opened. */
type Piece = string | { readonly sealed: string };

/** A line; its pieces, where it waits for texts; undefined where it has to be made the slow way. */
type Draft = string | readonly Piece[] | undefined;

/**
 * Makes the lines of an export (docs/audit-format.md) out of the stored texts themselves. A line is what `exportLine`
 * makes of an opened event, but for the order and the writing of what is between the members of a view.
 */
export class ExportLines {
  readonly #personal: ReadonlyMap<string, EventDefinition>;
  readonly #keys: KeyRing;
  readonly #views: OpenedViews;

  constructor(catalogue: readonly EventDefinition[], keys: KeyRing) {
    this.#keys = keys;
    this.#views = new OpenedViews(catalogue, keys);
    this.#personal = new Map(
      catalogue
        .filter(({ personal }) => Object.keys(personal).length > 0)
        .map((definition) => [definition.type, definition]),
    );
  }

  /** In UTF-8, in their order. @throws {StoreUnavailable} when keys cannot be read */
  async of(events: readonly StoredEvent[]): Promise<readonly Uint8Array[]> {
    const sealed: string[] = [];
    const drafts = events.map((event) => this.#draft(event, sealed));
    const texts = await this.#open(sealed);
    const buffers = new LineBuffers();
    for (const [index, draft] of drafts.entries()) {
      if (typeof draft === 'string') buffers.text(draft);
      else if (draft !== undefined) {
        let line = '';
        for (const piece of draft) {
          line += typeof piece === 'string' ? piece : JSON.stringify(texts.get(piece.sealed) ?? ERASED);
        }
        buffers.text(line);
      } else {
        const event = events[index];
        const [opened] = event === undefined ? [] : await this.#views.open([event]);
        if (opened !== undefined) buffers.text(exportLine(opened));
      }
    }
    return buffers.take();
  }

  /** @param sealed gets the texts that the line waits for */
  #draft(event: StoredEvent, sealed: string[]): Draft {
    const { position, stream, revision, id, type, data, metadata } = event;
    const values = objectOf(data);
    if (values === null || data.includes('\n')) return undefined;
    const quoted = JSON.stringify(metadata);
    if (plainMetadata(metadata, quoted) === undefined) {
      if (objectOf(metadata) === null || metadata.includes('\n')) return undefined;
    }
    const begin =
      `{"position":"${position}","stream":${JSON.stringify(stream)},"revision":${revision},` +
      `"id":${JSON.stringify(id)},"type":${JSON.stringify(type)},"data":`;
    const end = `,"metadata":${metadata},"sealed":{"data":${JSON.stringify(data)},"metadata":${quoted}}}\n`;
    const definition = this.#personal.get(type);
    if (definition === undefined) return begin + data + end;
    const places = placesOf(definition, stream, data, values);
    if (places === undefined) return undefined;
    const pieces: Piece[] = [];
    let text = begin;
    let from = 0;
    for (const { at, length, piece } of places) {
      text += data.slice(from, at);
      from = at + length;
      if (typeof piece === 'string') text += piece;
      else {
        sealed.push(piece.sealed);
        pieces.push(text, piece);
        text = '';
      }
    }
    text += data.slice(from) + end;
    return pieces.length === 0 ? text : [...pieces, text];
  }

  async #open(sealed: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>();
    for (let at = 0; at < sealed.length; at += KEYS_AT_ONCE) {
      const part = sealed.slice(at, at + KEYS_AT_ONCE);
      await this.#keys.load(part.map(sealedKeyId));
      for (const one of part) {
        const text = this.#views.textOf(one);
        if (text !== ERASED) texts.set(one, text);
      }
    }
    return texts;
  }
}

interface Place {
  readonly at: number;
  readonly length: number;
  readonly piece: Piece;
}

/**
 * Where the personal texts are in the text of the data, in their order; undefined when that cannot be told for sure, as
 * with a name that occurs more than once.
 */
const placesOf = (
  { personal, secret }: EventDefinition,
  stream: string,
  data: string,
  values: Readonly<Record<string, unknown>>,
): readonly Place[] | undefined => {
  const places: Place[] = [];
  for (const field in personal) {
    const value = values[field];
    if (typeof value !== 'string') continue;
    const member = `"${field}":`;
    const at = data.indexOf(member);
    const before = data[at - 1];
    // A quote in a text is written with a backslash before it, so that this is the name of a member.
    const isOnly = (before === '{' || before === ',') && data.indexOf(member, at + 1) < 0;
    const valueAt = at + member.length;
    if (!isOnly || data[valueAt] !== '"' || !data.startsWith(value, valueAt + 1)) return undefined;
    if (data[valueAt + 1 + value.length] !== '"') return undefined;
    const isSecret = secret.includes(field);
    const instead = `"${isSecret ? SECRET : UNREADABLE}"`;
    const piece = !isSecret && isSealed(value, stream) ? { sealed: value } : instead;
    places.push({ at: valueAt, length: value.length + 2, piece });
  }
  return places.length > 1 ? places.sort((a, b) => a.at - b.at) : places;
};
