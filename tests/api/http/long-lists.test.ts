import { expect } from 'chai';
import fc from 'fast-check';
import { LongLists } from '../../../api/http/long-lists.ts';

/** Longer than a part, so that a list of a few such texts has several parts. */
const LONG = 'x'.repeat(70_000);

/** Scans as `body.ts` does, which reports brackets and commas outside of texts. */
const parsed = (text: string): { readonly value: unknown; readonly parts: number } => {
  const lists = new LongLists();
  let inText = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text[at];
    if (inText && unit === '\\') at += 1;
    else if (unit === '"') inText = !inText;
    else if (inText) continue;
    else if (unit === '[' || unit === '{') lists.opened(at, unit === '[');
    else if (unit === ']' || unit === '}') lists.closed(at, unit === ']');
    else if (unit === ',') lists.comma(at);
  }
  const steps = lists.parse(text);
  for (let parts = 0; ; parts += 1) {
    const { done, value } = steps.next();
    if (done === true) return { value, parts };
  }
};

/** The parsed value, or `refused`. */
const outcome = (parse: () => unknown): unknown => {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SyntaxError) return 'refused';
    throw error;
  }
};

describe('Long lists of a body', () => {
  it('are parsed in parts, with the result of JSON.parse', () => {
    const element = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant(LONG),
      fc.constant([LONG, LONG, LONG]),
    );
    const list = fc.array(element, { maxLength: 12 });
    const body = fc.oneof(list, fc.dictionary(fc.string(), fc.oneof(list, element)));
    fc.assert(
      fc.property(body, fc.boolean(), (value, isSpaced) => {
        const text = JSON.stringify(value, null, isSpaced ? 1 : 0);
        expect(parsed(text).value).to.deep.equal(JSON.parse(text));
      }),
      { numRuns: 200 },
    );
    const ids = Array.from({ length: 20_000 }, (_, nth) => `id-${nth}-${'0'.repeat(30)}`);
    const { value, parts } = parsed(JSON.stringify({ a: [{ ids }], b: ids }));
    expect(value).to.deep.equal({ a: [{ ids }], b: ids });
    expect(parts).to.be.greaterThan(8);
  });

  it('are refused where JSON.parse refuses them', () => {
    const one = JSON.stringify(LONG);
    const wrong = [
      `[${one},${one},${one},]`,
      `[,${one},${one},${one}]`,
      `[${one},${one},,${one},${one}]`,
      `[${one},${one},${one} ${one}]`,
      `[${one},${one},${one}}`,
      `{"a":{"b":${one},"c":${one},"d":${one}]}`,
      `{[${one},${one},${one}]:1}`,
      `[{${one},${one},${one}]]`,
      `[{],[${one},${one},${one}}]`,
      `1[${one},${one},${one}]`,
      `[${one},${one},${one}][1]`,
      `[[${one},${one},${one}]`,
      `[${one},${one},${one}]]`,
    ];
    for (const text of wrong) {
      expect(() => void JSON.parse(text), text.replaceAll(one, '…')).to.throw(SyntaxError);
      expect(
        outcome(() => parsed(text)),
        text.replaceAll(one, '…'),
      ).to.equal('refused');
    }
  });

  it('keep the last of two members of one name, and members named __proto__', () => {
    const one = JSON.stringify([LONG, LONG, LONG]);
    for (const text of [
      `{"a":1,"a":${one}}`,
      `{"a":${one},"a":2}`,
      `{"__proto__":${one},"b":{"__proto__":1}}`,
    ]) {
      const { value } = parsed(text);
      expect(JSON.stringify(value)).to.equal(JSON.stringify(JSON.parse(text)));
      expect(Object.getPrototypeOf(value)).to.equal(Object.prototype);
    }
  });
});
