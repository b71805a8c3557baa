import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalJson } from '../../../application/canonical-json.ts';
import { JsonPass } from '../../../application/ports/lines/json-pass.ts';

const NAMES = ['body', 'a'];

/** What the pass says of a text, with nothing or something else after it. */
const passed = (text: string, after = '') => {
  const bytes = Buffer.from(text + after, 'utf8');
  const pass = new JsonPass();
  pass.out = new Uint8Array(2 * bytes.length + 8);
  const found: number[] = [];
  const names = NAMES.map((name, number) => ({ bytes: Buffer.from(name), number }));
  const end = pass.object(bytes, 0, names, found);
  const texts: [string, unknown][] = [];
  for (let nth = 0; nth < found.length; nth += 3) {
    const value: unknown = JSON.parse(bytes.toString('utf8', found[nth], found[nth + 1]));
    texts.push([NAMES[found[nth + 2] ?? -1] ?? '', value]);
  }
  return { end, out: Buffer.from(pass.out.subarray(0, pass.length)).toString('utf8'), texts, bytes };
};

const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
};

/** Where the pass takes a text it is right about it; true when it did. */
const isRightAbout = (text: string): boolean => {
  const { end, out, texts, bytes } = passed(text);
  if (end !== bytes.length) return false;
  expect(isObject(text), text).to.equal(true);
  expect(out).to.equal(JSON.stringify(text).slice(1, -1));
  const value: Readonly<Record<string, unknown>> = JSON.parse(text);
  const expected = NAMES.filter((name) => typeof value[name] === 'string').map((name) => [name, value[name]]);
  expect(texts.toSorted()).to.deep.equal(expected.toSorted());
  return true;
};

const key = fc.oneof(
  fc.constantFrom(...NAMES, 'other'),
  fc.string({ unit: 'binary' }).map((one) => one.toWellFormed()),
);
const canonical = fc
  .dictionary(key, fc.jsonValue({ stringUnit: 'binary' }), { maxKeys: 6 })
  .map((value) => canonicalJson(JSON.parse(JSON.stringify(value).toWellFormed())));

describe('The pass over stored JSON', () => {
  it('takes what the codec writes, and knows its string and its members’ texts', () => {
    let taken = 0;
    fc.assert(
      fc.property(canonical, (text) => {
        fc.pre(text.isWellFormed());
        if (isRightAbout(text)) taken += 1;
        // An escape in a name or in a text that is looked for needs a closer look, and nothing else does.
        else expect(text).to.match(/\\/);
      }),
      { numRuns: 2000 },
    );
    expect(taken).to.be.greaterThan(500);
  });

  it('writes texts of each length as JSON.stringify does, whatever stands at each of their places', () => {
    const units = [
      '"',
      '\\',
      '\0',
      '\u0001',
      '\b',
      '\t',
      '\n',
      '\u001f',
      ' ',
      '!',
      '#',
      '[',
      ']',
      '}',
      '\u007f',
    ];
    const wider = ['\u0080', 'é', '߿', 'ࠀ', '\u2028', '\uffff', '😀', '\ud800', '\udfff'];
    for (const unit of [...units, ...wider]) {
      for (let length = 0; length <= 20; length += 1) {
        for (let place = 0; place <= length; place += 1) {
          const text = 'x'.repeat(place) + unit + 'y'.repeat(length - place);
          // The texts begin at odd places, and the last of them ends where the bytes end but for two.
          const written = JSON.stringify({ x: [{ [text]: 1 }, unit.repeat(length), text] });
          expect(isRightAbout(written), written).to.equal(true);
          const cut = written.slice(0, -3);
          expect(passed(cut).end, cut).to.equal(-1);
        }
      }
    }
  });

  it('takes no control character as it is, at whichever place of a text', () => {
    for (let unit = 0; unit < 0x20; unit += 1) {
      for (let place = 0; place < 9; place += 1) {
        const text = `{"x":"é${'x'.repeat(place)}${String.fromCharCode(unit)}yyyyyyy"}`;
        expect(passed(text).end, JSON.stringify(text)).to.equal(-1);
      }
    }
  });

  it('takes nothing that JSON.parse does not, however small the change', () => {
    const odd = [
      '-0',
      '1e400',
      '01',
      '1.',
      '.5',
      '+1',
      '-',
      '1e',
      '1e+5',
      'nul',
      'Infinity',
      '"\\u12g4"',
      '"\\x"',
      '"\\/"',
    ];
    fc.assert(
      fc.property(
        canonical,
        fc.nat(),
        fc.nat(2),
        fc.oneof(fc.string({ maxLength: 3, unit: 'binary' }), fc.constantFrom(...'{}[]",:\\\n\t\0 ', ...odd)),
        (text, at, cut, put) => {
          const place = at % (text.length + 1);
          const other = text.slice(0, place) + put + text.slice(place + cut);
          fc.pre(other.isWellFormed());
          isRightAbout(other);
        },
      ),
      { numRuns: 8000 },
    );
    for (const value of odd) isRightAbout(`{"x":${value}}`);
    expect(isRightAbout('{"x":[-0,1e400,true,null,"\\ud800"],"y":{}}')).to.equal(true);
  });

  it('leaves to a closer look what it cannot tell, and ends where the object ends', () => {
    const tooDeep = `{"x":${'['.repeat(40)}${']'.repeat(40)}}`;
    for (const text of [
      '[]',
      '{"a":"x","a":"y"}',
      '{"\\u0061":"x"}',
      '{"a":"\\n"}',
      '{ }',
      '{"x":1',
      tooDeep,
    ]) {
      expect(passed(text).end, text).to.equal(-1);
    }
    for (const after of ['', ',"metadata":{}', '\n', '}']) expect(passed('{"a":"x"}', after).end).to.equal(9);
  });
});
