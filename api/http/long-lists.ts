import { randomUUID } from '../../application/core/runtime/random.ts';

/** Minimum characters of a part of a list, except the last part. */
const PART = 128 * 1024;

/** A long list, as indexes in the JSON text: its brackets, and commas at least {@link PART} characters apart. */
interface LongList {
  readonly open: number;
  readonly close: number;
  readonly commas: readonly number[];
}

interface Bracket {
  readonly at: number;
  readonly isList: boolean;
  readonly commas: number[];
}

/** Finds the long lists of a JSON text during its scan, so that each list can be parsed in parts. */
export class LongLists {
  readonly #open: Bracket[] = [];
  #found: LongList[] = [];

  opened(at: number, isList: boolean): void {
    this.#open.push({ at, isList, commas: [] });
  }

  comma(at: number): void {
    const inner = this.#open.at(-1);
    if (inner?.isList !== true) return;
    if (at - (inner.commas.at(-1) ?? inner.at) >= PART) inner.commas.push(at);
  }

  closed(at: number, isList: boolean): void {
    const inner = this.#open.pop();
    // Brackets that do not match are left to the parser, which refuses them.
    if (inner === undefined || inner.commas.length === 0 || inner.isList !== isList) return;
    // Long lists inside this list are parsed with its parts.
    this.#found = this.#found.filter(({ open }) => open < inner.at);
    this.#found.push({ open: inner.at, close: at, commas: inner.commas });
  }

  /**
   * Parses the text as `JSON.parse` does; yields between the parts.
   * @throws {SyntaxError} where `JSON.parse` would throw
   */
  *parse(text: string): Generator<void, unknown> {
    // A placeholder is an object with a key that no caller can guess. An object is valid JSON wherever a list is.
    const name = randomUUID();
    const lists: unknown[][] = [];
    let rest = '';
    let from = 0;
    for (const { open, close, commas } of this.#found) {
      rest += `${text.slice(from, open)}{"${name}":${lists.length}}`;
      from = close + 1;
      const list: unknown[] = [];
      let begin = open + 1;
      for (const end of [...commas, close]) {
        for (const value of elementsOf(text.slice(begin, end))) list.push(value);
        begin = end + 1;
        yield;
      }
      lists.push(list);
    }
    const outer: unknown = JSON.parse(rest + text.slice(from));
    return lists.length === 0 ? outer : filled(outer, name, lists);
  }
}

/** A part between two commas has at least one element. */
const elementsOf = (part: string): readonly unknown[] => {
  const found: unknown = JSON.parse(`[${part}]`);
  if (!Array.isArray(found) || found.length === 0) throw new SyntaxError('an element is missing');
  return found;
};

/** Replaces the placeholders by their lists. */
const filled = (value: unknown, name: string, lists: readonly unknown[][]): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => filled(each, name, lists));
  const members = Object.entries(value);
  const [first] = members;
  if (first?.[0] === name) return lists[Number(first[1])];
  for (const [key, each] of members) {
    if (typeof each === 'object' && each !== null) {
      // Assigning would call the setter of `__proto__`.
      const whole = {
        value: filled(each, name, lists),
        enumerable: true,
        configurable: true,
        writable: true,
      };
      Object.defineProperty(value, key, whole);
    }
  }
  return value;
};
