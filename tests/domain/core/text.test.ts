import { expect } from 'chai';
import fc from 'fast-check';
import { codePoints, isStorableKey, isStorableText, truncate } from '../../../domain/core/text.ts';

const texts = fc.string({ unit: 'binary', maxLength: 80 });

describe('Text', () => {
  it('is counted in code points', () => {
    fc.assert(fc.property(texts, (text) => codePoints(text) === [...text].length));
  });

  it('is truncated between characters', () => {
    fc.assert(
      fc.property(texts, fc.nat(90), (text, max) => {
        const cut = truncate(text, max);
        expect(codePoints(cut)).to.equal(Math.min(max, codePoints(text)));
        expect(text.startsWith(cut)).to.equal(true);
        expect(cut.isWellFormed()).to.equal(true);
      }),
    );
  });

  it('is storable without NUL and lone surrogates', () => {
    for (const text of ['', 'x', '😀', '\u0001', '\uffff']) expect(isStorableText(text)).to.equal(true);
    for (const text of ['\u0000', '\ud800', 'a\udc00b', '\udc00\ud800']) {
      expect(isStorableText(text)).to.equal(false);
    }
  });

  it('is storable as a key unless it is one escaped character or `__proto__`', () => {
    for (const key of ['', 'x', "'", 'a"', '\\\\', '\n\n']) expect(isStorableKey(key), key).to.equal(true);
    for (const key of ['"', '\\', '\n', '\u001f', '\ud800', '__proto__']) {
      expect(isStorableKey(key), key).to.equal(false);
    }
  });

  // When this fails, Node is fixed, and the refusal of decision 70 can go once older versions are out of use.
  it('is read wrongly by this Node as a key of one escaped character', () => {
    expect(JSON.parse('{" ":1,"\\\\":2}')).to.deep.equal({ ' ': 1, '\\': 2 });
    expect(JSON.parse('{" ":1,"\\n":2}')).to.deep.equal({ ' ': 1, '\\': 2 });
  });
});
