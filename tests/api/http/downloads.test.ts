import { expect } from 'chai';
import fc from 'fast-check';
import { byteRange } from '../../../api/http/byte-range.ts';
import { attachment } from '../../../api/http/content-disposition.ts';

describe('Content-Disposition', () => {
  const cases: readonly (readonly [name: string, header: string])[] = [
    ['a.txt', 'attachment; filename="a.txt"'],
    ['two words.txt', 'attachment; filename="two words.txt"'],
    ['a"b\\c.txt', 'attachment; filename="a_b_c.txt"; filename*=UTF-8\'\'a%22b%5Cc.txt'],
    ['50%41.txt', 'attachment; filename="50_41.txt"; filename*=UTF-8\'\'50%2541.txt'],
    ["it's (1)*.txt", 'attachment; filename="it\'s (1)*.txt"'],
    ["ü'(*).txt", "attachment; filename=\"_'(*).txt\"; filename*=UTF-8''%C3%BC%27%28%2A%29.txt"],
    ['日本.txt', 'attachment; filename="__.txt"; filename*=UTF-8\'\'%E6%97%A5%E6%9C%AC.txt'],
    ['😀', 'attachment; filename="_"; filename*=UTF-8\'\'%F0%9F%98%80'],
  ];
  for (const [name, header] of cases) {
    it(`of ${name}`, () => {
      expect(attachment(name)).to.equal(header);
    });
  }

  it('of any name is one header, and gives the name back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), (text) => {
        const name = text.toWellFormed();
        const header = attachment(name);
        const [, plain = '', encoded] =
          /^attachment; filename="([^"\\]*)"(?:; filename\*=UTF-8''([A-Za-z0-9%!~._-]*))?$/.exec(header) ??
          [];
        expect(header).to.match(/^[\x20-\x7e]+$/);
        expect(encoded === undefined ? plain : decodeURIComponent(encoded)).to.equal(name);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('Range', () => {
  const cases: readonly (readonly [header: string | undefined, first?: number, last?: number])[] = [
    ['bytes=0-0', 0, 0],
    ['bytes=0-9', 0, 9],
    ['bytes=0-99', 0, 9],
    ['bytes=3-', 3, 9],
    ['bytes=-3', 7, 9],
    ['bytes=-99', 0, 9],
    ['bytes=9-9', 9, 9],
    ['bytes=10-'],
    ['bytes=-0'],
    ['bytes=-'],
    ['bytes=5-4'],
    ['bytes=0-1,3-4'],
    ['lines=0-1'],
    ['bytes=a-b'],
    ['bytes=0-9999999999999999999'],
    [undefined],
  ];
  for (const [header, first, last] of cases) {
    it(`${header} of ten bytes`, () => {
      expect(byteRange(header, 10)).to.deep.equal(first === undefined ? undefined : { first, last });
    });
  }

  it('of nothing is none', () => {
    expect(byteRange('bytes=0-0', 0)).to.equal(undefined);
    expect(byteRange('bytes=-1', 0)).to.equal(undefined);
  });
});
