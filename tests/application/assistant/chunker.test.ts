import { expect } from 'chai';
import fc from 'fast-check';
import {
  chunksOf,
  contentHash,
  normalised,
  SECTION,
  sectionsOf,
} from '../../../application/assistant/chunker.ts';

const SMALL = { target: 60, size: 80, limit: 1000 };
const textsOf = (text: string, sizes = SMALL) => chunksOf('A title', text, sizes).map((chunk) => chunk.text);

describe('chunks of a text', () => {
  it('are one for a short text and none for an empty one', () => {
    expect(textsOf('Hello.\n\nWorld.')).to.deep.equal(['Hello.\n\nWorld.']);
    for (const nothing of ['', ' \n\t\r\n ', '\u0000\u0007', '\ufeff'])
      expect(textsOf(nothing)).to.deep.equal([]);
  });

  it('keep paragraphs and sentences whole where possible', () => {
    const [first, second, third] = [
      'First one. And more of it here.',
      'The second paragraph stands here, whole.',
      'Third.',
    ];
    expect(textsOf(`${first}\n\n${second}\n\n${third}`, { ...SMALL, target: 65 })).to.deep.equal([
      first,
      `${second}\n\n${third}`,
    ]);
  });

  it('take sentences up to the target length, and keep a longer sentence whole', () => {
    const [short, longer] = [
      'It is here.',
      `This sentence is longer than any target, ${'so '.repeat(8)}it stays.`,
    ];
    const found = textsOf([short, short, short, longer, short].join(' '), {
      target: 30,
      size: 80,
      limit: 99,
    });
    expect(found).to.deep.equal([`${short} ${short}`, short, longer, short]);
  });

  it('are grouped into sections without a gap', () => {
    expect(sectionsOf([])).to.deep.equal([]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 40 }), (lengths) => {
        const sections = sectionsOf(lengths.map((length) => 'x'.repeat(length)));
        let next = 0;
        for (const { from, to } of sections) {
          expect(from).to.equal(next);
          expect(to).to.be.greaterThan(from);
          const whole = lengths.slice(from, to).reduce((sum, length) => sum + length, 0);
          expect(whole).to.be.at.most(SECTION);
          next = to;
        }
        expect(next).to.equal(lengths.length);
      }),
    );
  });

  it('respect the size limit, are not empty, split no code point and lose no word', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 120 }),
      fc.constantFrom('word ', '. ', '\n', '\n\n', '😀'.repeat(90), 'x'.repeat(200)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = normalised(pieces.join(''));
        const found = textsOf(text);
        for (const chunk of found) {
          expect(chunk.length).to.be.within(1, SMALL.size);
          expect(chunk.isWellFormed()).to.equal(true);
        }
        const squeezed = (value: string) => value.replace(/\s+/g, '');
        expect(squeezed(found.join(''))).to.equal(squeezed(text));
      }),
      { numRuns: 300 },
    );
  });

  it('of a long text are longer, so that its end is found too', () => {
    const sizes = { target: 60, size: 300, limit: 100 };
    const text = Array.from({ length: 500 }, (_, n) => `Sentence ${n} is here.`).join(' ');
    const found = textsOf(text, sizes);
    expect(found.length).to.be.within(20, sizes.limit);
    expect(found.at(-1)).to.include('Sentence 499');
  });

  it('are limited in number', () => {
    expect(textsOf('word. '.repeat(5000), { ...SMALL, limit: 7 })).to.have.length(7);
  });

  it('of a text of many megabytes are made within seconds', () => {
    const before = performance.now();
    for (const text of [
      'a'.repeat(3_000_000),
      ' '.repeat(3_000_000),
      '.'.repeat(3_000_000),
      'ab. '.repeat(800_000),
    ])
      chunksOf('t', text);
    expect(performance.now() - before).to.be.lessThan(15_000);
  }).timeout(30_000);

  it('have a hash of title and text that ignores line end styles', () => {
    const hashes = (title: string, text: string) => chunksOf(title, text).map(({ hash }) => hash);
    expect(hashes('T', 'a\r\nb  \r\n')).to.deep.equal(hashes('T', 'a\nb'));
    expect(hashes('T', 'a')).to.deep.equal([contentHash('T', 'a')]);
    expect(hashes('T', 'a')).not.to.deep.equal(hashes('U', 'a'));
    expect(hashes('T', 'cafe\u0301')).to.deep.equal(hashes('T', 'café'));
  });
});
