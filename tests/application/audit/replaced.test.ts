import { expect } from 'chai';
import fc from 'fast-check';
import { type Edit, edited, writtenOver } from '../../../application/audit/replaced.ts';
import { LineTexts } from '../../../application/ports/lines/line-texts.ts';

/** By slices of strings, of one byte a unit. */
const plainly = (bytes: Buffer, edits: readonly Edit[]): string => {
  const text = bytes.toString('latin1');
  let found = '';
  let read = 0;
  for (const { from, to, instead } of edits) {
    found += text.slice(read, from) + Buffer.from(instead).toString('latin1');
    read = to;
  }
  return found + text.slice(read);
};

const textsOf = (edits: readonly Edit[]): LineTexts => {
  const numbers: number[] = [];
  for (const { from, to } of edits) LineTexts.add(numbers, from, to, 9, 9, 9);
  return new LineTexts(new Uint32Array(numbers));
};

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

describe('Bytes with others in the place of some', () => {
  const cases = (most: number) =>
    fc
      .tuple(
        fc.uint8Array({ minLength: 0, maxLength: 400, size: 'max' }),
        fc.array(fc.nat(400), { minLength: 2, maxLength: 12 }),
        fc.infiniteStream(fc.uint8Array({ maxLength: most })),
      )
      .map(([bytes, places, instead]) => {
        const sorted = places.map((place) => Math.min(place, bytes.length)).sort((a, b) => a - b);
        const edits: Edit[] = [];
        for (let nth = 0; nth + 1 < sorted.length; nth += 2) {
          const { value } = instead.next();
          edits.push({ from: sorted[nth] ?? 0, to: sorted[nth + 1] ?? 0, instead: value });
        }
        return { bytes: Buffer.from(bytes), edits };
      });

  it('are what slices give, copied and in their own place, where that holds them and where it does not', () => {
    const seen = { inPlace: 0, copied: 0 };
    fc.assert(
      fc.property(fc.oneof(cases(4), cases(200)), ({ bytes, edits }) => {
        const expected = plainly(bytes, edits);
        expect(latin1(edited(bytes, edits))).to.equal(expected);
        const instead = edits.map((edit) => edit.instead);
        const over = writtenOver(bytes, textsOf(edits), instead);
        expect(latin1(over)).to.equal(expected);
        if (edits.length > 0) seen[over.buffer === bytes.buffer ? 'inPlace' : 'copied'] += 1;
      }),
      { numRuns: 2000 },
    );
    expect(seen.inPlace).to.be.greaterThan(20);
    expect(seen.copied).to.be.greaterThan(20);
  });
});
