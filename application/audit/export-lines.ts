import type { EventDefinition } from '../../domain/event.ts';
import type { LinePage, StoredEvent, TypeMember } from '../ports/event-store.ts';
import { StoredLines, viewsOf } from '../ports/lines/stored-lines.ts';
import { ERASED, type KeyRing } from '../sealing.ts';
import { exportLine } from './line.ts';
import { isSealedFor, OpenedViews, SECRET, sealedFor, UNREADABLE } from './opened-views.ts';

/** So many keys are asked for together: no more than are kept in memory. */
const KEYS_AT_ONCE = 512;

/** Of no text. */
const NO_BEGINNING = sealedFor('.');

const bytesOf = (text: string): Buffer => Buffer.from(text, 'utf8');
const ERASED_BYTES = bytesOf(JSON.stringify(ERASED));
const SECRET_BYTES = bytesOf(JSON.stringify(SECRET));
const UNREADABLE_BYTES = bytesOf(JSON.stringify(UNREADABLE));

/** What is written instead of a part of the lines. */
interface Edit {
  readonly from: number;
  readonly to: number;
  instead: Uint8Array;
}

/** Edits, and which of them wait for a text that has to be opened. */
class Edits {
  readonly all: Edit[] = [];
  readonly waiting: Edit[] = [];
  readonly sealed: string[] = [];

  add(from: number, to: number, instead: Uint8Array): void {
    this.all.push({ from, to, instead });
  }

  await(from: number, to: number, sealed: string): void {
    const edit = { from, to, instead: ERASED_BYTES };
    this.all.push(edit);
    this.waiting.push(edit);
    this.sealed.push(sealed);
  }
}

/**
 * Makes the lines of an export (docs/audit-format.md) out of lines of stored texts, by putting others in the place of the
 * personal ones. A line depends on the event alone, whoever else is read with it: what is not written as the codec writes
 * is what `exportLine` makes of the opened event.
 */
export class ExportLines {
  /** The personal ones. */
  readonly members: readonly (TypeMember & { readonly isSecret: boolean })[];
  readonly #keys: KeyRing;
  readonly #views: OpenedViews;
  readonly #lines: StoredLines;

  constructor(catalogue: readonly EventDefinition[], keys: KeyRing) {
    this.#keys = keys;
    this.#views = new OpenedViews(catalogue, keys);
    this.members = catalogue.flatMap(({ type, personal, secret }) =>
      Object.keys(personal).map((name) => ({ type, name, isSecret: secret.includes(name) })),
    );
    this.#lines = new StoredLines(this.members);
  }

  /** In UTF-8, in their order. @throws {StoreUnavailable} when keys cannot be read */
  async of(events: readonly StoredEvent[]): Promise<Uint8Array> {
    const views = events.map((event) => bytesOf(viewsOf(event)));
    this.#lines.begin(views.reduce((sum, { length }) => sum + length, 0));
    const closer: { readonly at: number; readonly event: StoredEvent }[] = [];
    const streams: { readonly until: number; readonly sealed: string }[] = [];
    for (const [index, event] of events.entries()) {
      const bytes = views[index] ?? ERASED_BYTES;
      if (!this.#lines.add(bytes, 0, bytes.length, event.type))
        closer.push({ at: this.#lines.length, event });
      streams.push({ until: this.#lines.length, sealed: sealedFor(event.stream) });
    }
    const { lines, texts } = this.#lines.take();
    const edits = new Edits();
    let nth = 0;
    this.#find(edits, asBuffer(lines), texts, (at) => {
      while (at >= (streams[nth]?.until ?? Number.POSITIVE_INFINITY)) nth += 1;
      return streams[nth]?.sealed ?? NO_BEGINNING;
    });
    for (const { at, event } of closer) {
      const [opened] = await this.#views.open([event]);
      if (opened !== undefined) edits.add(at, at, bytesOf(exportLine(opened)));
    }
    // Those of whole lines stand at their ends, never within another: the sort is stable.
    edits.all.sort((a, b) => a.from - b.from);
    return this.#edited(lines, edits);
  }

  /**
   * Of lines that a store has made of one tenant's events, with {@link members}. They are a copy: what the store gives stays
   * its own.
   * @throws {StoreUnavailable} when keys cannot be read
   */
  async opened(lines: Uint8Array, texts: LinePage['texts'], tenantPrefix: string): Promise<Uint8Array> {
    const edits = new Edits();
    const sealed = sealedFor(tenantPrefix);
    this.#find(edits, asBuffer(lines), texts, () => sealed);
    return this.#edited(lines, edits);
  }

  #find(edits: Edits, lines: Buffer, texts: LinePage['texts'], sealedAt: (at: number) => string): void {
    for (let nth = 0; nth < texts.length; nth += 3) {
      const [from, to] = [texts[nth] ?? 0, texts[nth + 1] ?? 0];
      if (this.members[texts[nth + 2] ?? -1]?.isSecret !== false) {
        edits.add(from, to, SECRET_BYTES);
        continue;
      }
      const value = lines.toString('utf8', from + 1, to - 1);
      if (isSealedFor(value, sealedAt(from))) edits.await(from, to, value);
      else edits.add(from, to, UNREADABLE_BYTES);
    }
  }

  async #edited(lines: Uint8Array, { all, waiting, sealed }: Edits): Promise<Uint8Array> {
    for (let at = 0; at < sealed.length; at += KEYS_AT_ONCE) {
      const texts = await this.#keys.openEach(sealed.slice(at, at + KEYS_AT_ONCE), UNREADABLE);
      for (const [index, text] of texts.entries()) {
        const edit = waiting[at + index];
        if (edit !== undefined && text !== undefined) edit.instead = bytesOf(JSON.stringify(text));
      }
    }
    return edited(asBuffer(lines), all);
  }
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const edited = (lines: Buffer, edits: readonly Edit[]): Uint8Array => {
  let length = lines.length;
  for (const { from, to, instead } of edits) length += instead.length - (to - from);
  const into = Buffer.allocUnsafeSlow(length);
  let [read, written] = [0, 0];
  for (const { from, to, instead } of edits) {
    written += lines.copy(into, written, read, from);
    into.set(instead, written);
    written += instead.length;
    read = to;
  }
  lines.copy(into, written, read);
  return into;
};
