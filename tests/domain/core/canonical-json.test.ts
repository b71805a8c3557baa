import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalJson, canonicalParts } from '../../../domain/core/canonical-json.ts';

const shuffled = (value: unknown, depth: number): unknown => {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, depth + 1));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => [
    key,
    shuffled(item, depth + 1),
  ]);
  return Object.fromEntries(depth % 2 === 0 ? entries.reverse() : entries);
};
const json = fc.jsonValue({ noUnicodeString: false });

describe('canonical JSON', () => {
  it('matches the example of RFC 8785, section 3.2.2', () => {
    const value = {
      numbers: [JSON.parse('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000f\u000aA\'\u0042\u0022\u005c\\"\u002f',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).to.equal(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts keys by UTF-16 code units as in RFC 8785, section 3.2.3', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(Object.values(JSON.parse(`{"k":${canonicalJson(Object.keys(value).sort())}}`).k)).to.deep.equal([
      '\r',
      '1',
      '\u0080',
      '\u00f6',
      '\u20ac',
      '\ud83d\ude00',
      '\ufb33',
    ]);
    expect(canonicalJson(value)).to.match(
      /^\{"\\r":.*"1":.*"\u0080":.*"\u00f6":.*"\u20ac":.*"\ud83d\ude00":.*"\ufb33":/,
    );
  });

  it('writes numbers as in the appendix of RFC 8785', () => {
    const vectors: readonly (readonly [number, string])[] = [
      [0, '0'],
      [-0, '0'],
      [5e-324, '5e-324'],
      [-1.7976931348623157e308, '-1.7976931348623157e+308'],
      [9007199254740992, '9007199254740992'],
      [295147905179352830000, '295147905179352830000'],
      [1e23, '1e+23'],
      [333333333.3333332, '333333333.3333332'],
      [0.000001, '0.000001'],
      [1e-7, '1e-7'],
    ];
    for (const [number, text] of vectors) expect(canonicalJson(number)).to.equal(text);
  });

  it('round-trips any value', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).to.deep.equal(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('has the same text in parts', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect([...canonicalParts(value)].join('')).to.equal(canonicalJson(value));
      }),
    );
    for (const value of [undefined, [], {}, [{}, [[]], undefined], { b: undefined, a: [1, {}] }]) {
      expect([...canonicalParts(value)].join('')).to.equal(canonicalJson(value));
    }
  });

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(json, (value) => {
        const parsed: unknown = JSON.parse(JSON.stringify(value));
        expect(canonicalJson(shuffled(parsed, 0))).to.equal(canonicalJson(parsed));
      }),
    );
  });

  it('leaves out undefined members and accepts hostile keys', () => {
    expect(canonicalJson({ b: undefined, a: 1 })).to.equal('{"a":1}');
    const text = '{"__proto__":1,"constructor":2,"toString":3}';
    expect(canonicalJson(JSON.parse(text))).to.equal(text);
  });
});
