import type { EventDefinition } from '../../domain/event.ts';
import type { LinePage, StoredEvent, TypeMember } from '../ports/event-store.ts';
import { NO_PAGE } from '../ports/lines/key-places.ts';
import { LineTexts } from '../ports/lines/line-texts.ts';
import { StoredLines, viewsOf } from '../ports/lines/stored-lines.ts';
import { ERASED, type KeyRing, sealedKeyId } from '../sealing.ts';
import { exportLine } from './line.ts';
import { isSealedFor, OpenedViews, SECRET, sealedFor, UNREADABLE } from './opened-views.ts';
import { edited, editsOf, writtenOver } from './replaced.ts';

/** So many keys that lie in no page are asked for together: no more than are kept in memory. */
const KEYS_AT_ONCE = 256;

const bytesOf = (text: string): Buffer => Buffer.from(text, 'utf8');
const ERASED_BYTES = bytesOf(JSON.stringify(ERASED));
const SECRET_BYTES = bytesOf(JSON.stringify(SECRET));
const UNREADABLE_BYTES = bytesOf(JSON.stringify(UNREADABLE));
/** Of a page's id, at the end of how `LinePage` names it. */
const UUID = 36;

interface Texts {
  readonly texts: LineTexts;
  readonly keyPages: readonly string[];
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

  /**
   * Of events of one tenant, in their order, in UTF-8.
   * @throws {StoreUnavailable} when keys cannot be read
   */
  async of(events: readonly StoredEvent[], tenantPrefix: string): Promise<Uint8Array> {
    const views = events.map((event) => bytesOf(viewsOf(event)));
    this.#lines.begin(views.reduce((sum, { length }) => sum + length, 0));
    const closer: { readonly at: number; readonly event: StoredEvent }[] = [];
    for (const [index, event] of events.entries()) {
      const bytes = views[index] ?? ERASED_BYTES;
      if (!this.#lines.add(bytes, 0, bytes.length, event.type))
        closer.push({ at: this.#lines.length, event });
    }
    const made = this.#lines.take();
    const lines = asBuffer(made.lines);
    const texts = new LineTexts(made.texts);
    const edits = [];
    for (const { at, event } of closer) {
      const [opened] = await this.#views.open([event]);
      if (opened !== undefined) edits.push({ from: at, to: at, instead: bytesOf(exportLine(opened)) });
    }
    const instead = await this.#instead(lines, { texts, keyPages: made.keyPages }, tenantPrefix);
    edits.push(...editsOf(texts, instead));
    // Whole lines stand at the ends of others, never within one.
    return edited(
      lines,
      edits.sort((a, b) => a.from - b.from),
    );
  }

  /**
   * Of lines that a store has made of one tenant's events, with {@link members}. They are written over: what is given back is
   * a part of them, wherever it fits.
   * @throws {StoreUnavailable} when keys cannot be read
   */
  async opened(
    lines: Uint8Array,
    { texts, keyPages }: Pick<LinePage, 'texts' | 'keyPages'>,
    tenantPrefix: string,
  ): Promise<Uint8Array> {
    const bytes = asBuffer(lines);
    const all = new LineTexts(texts);
    return writtenOver(bytes, all, await this.#instead(bytes, { texts: all, keyPages }, tenantPrefix));
  }

  /** What stands in a line instead of each text. */
  async #instead(lines: Buffer, { texts, keyPages }: Texts, tenantPrefix: string): Promise<Uint8Array[]> {
    const beginning = sealedFor(tenantPrefix);
    const apart = await this.#openedApart(lines, texts, beginning);
    const { ids, places } = this.#ownPages(texts, keyPages, beginning);
    const pages = await this.#keys.openPages(ids);
    try {
      const instead: Uint8Array[] = [];
      for (let nth = 0; nth < texts.count; nth += 1) {
        const [number, slot] = [texts.page(nth), texts.slot(nth)];
        const page = places[number];
        if (this.#isSecret(texts, nth)) instead.push(SECRET_BYTES);
        else if (number === NO_PAGE) instead.push(apart.get(nth) ?? ERASED_BYTES);
        else if (page === undefined) instead.push(UNREADABLE_BYTES);
        // Where most are gone, not even the sealed text is read.
        else if (pages.isGone(page, slot)) instead.push(ERASED_BYTES);
        else {
          const sealed = textAt(lines, texts, nth);
          instead.push(shown(() => this.#keys.openPaged(pages, page, slot, sealed)));
        }
      }
      return instead;
    } finally {
      pages.close();
    }
  }

  /**
   * The pages that some text of the tenant is to be opened with: a text in a changed log may name any other.
   * @returns their ids, and the place among them of each of `keyPages`
   */
  #ownPages(
    texts: LineTexts,
    keyPages: readonly string[],
    beginning: string,
  ): { ids: string[]; places: (number | undefined)[] } {
    const ids: string[] = [];
    const places: (number | undefined)[] = keyPages.map(() => undefined);
    const isOwn = keyPages.map((page) => `v1:${page}`.startsWith(beginning));
    for (let nth = 0; nth < texts.count; nth += 1) {
      const number = texts.page(nth);
      if (isOwn[number] !== true || places[number] !== undefined || this.#isSecret(texts, nth)) continue;
      places[number] = ids.push(keyPages[number]?.slice(-UUID) ?? '') - 1;
    }
    return { ids, places };
  }

  /** Of the texts whose keys lie in no page, by their places in `texts`. */
  async #openedApart(
    lines: Buffer,
    texts: LineTexts,
    beginning: string,
  ): Promise<ReadonlyMap<number, Uint8Array>> {
    const found = new Map<number, Uint8Array>();
    const sealed: (readonly [nth: number, text: string])[] = [];
    for (let nth = 0; nth < texts.count; nth += 1) {
      if (texts.page(nth) !== NO_PAGE || this.#isSecret(texts, nth)) continue;
      const text = textAt(lines, texts, nth);
      if (isSealedFor(text, beginning)) sealed.push([nth, text]);
      else found.set(nth, UNREADABLE_BYTES);
    }
    for (let at = 0; at < sealed.length; at += KEYS_AT_ONCE) {
      const some = sealed.slice(at, at + KEYS_AT_ONCE);
      await this.#keys.load(some.map(([, text]) => sealedKeyId(text)));
      for (const [nth, text] of some)
        found.set(
          nth,
          shown(() => this.#keys.openLoaded(text)),
        );
    }
    return found;
  }

  #isSecret(texts: LineTexts, nth: number): boolean {
    return this.members[texts.member(nth)]?.isSecret !== false;
  }
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Without its quotes. */
const textAt = (lines: Buffer, texts: LineTexts, nth: number): string =>
  lines.toString('utf8', texts.from(nth) + 1, texts.to(nth) - 1);

const shown = (open: () => string | undefined): Uint8Array => {
  try {
    const text = open();
    return text === undefined ? ERASED_BYTES : bytesOf(JSON.stringify(text));
  } catch {
    // Its bytes are not those that were sealed.
    return UNREADABLE_BYTES;
  }
};
