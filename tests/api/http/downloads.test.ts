import { expect } from 'chai';
import { byteRange } from '../../../api/http/byte-range.ts';

describe('A Range header', () => {
  const cases: readonly (readonly [header: string | undefined, first?: number, last?: number])[] = [
    ['bytes=0-0', 0, 0],
    ['bytes=0-9', 0, 9],
    ['bytes=0-99', 0, 9],
    ['bytes=3-', 3, 9],
    ['bytes=-3', 7, 9],
    ['bytes=9-9', 9, 9],
    ['bytes=10-'],
    ['bytes=-0'],
    ['bytes=-'],
    ['bytes=5-4'],
    ['bytes=0-1,3-4'],
    ['lines=0-1'],
    ['bytes=a-b'],
    ['bytes=0-9999999999999999999', 0, 9],
    ['bytes=-99'],
    [undefined],
  ];
  for (const [header, first, last] of cases) {
    it(`is read for a file of ten bytes: ${header}`, () => {
      expect(byteRange(header, 10)).to.deep.equal(first === undefined ? undefined : { first, last });
    });
  }

  it('gives no range of an empty file', () => {
    expect(byteRange('bytes=0-0', 0)).to.equal(undefined);
    expect(byteRange('bytes=-1', 0)).to.equal(undefined);
  });
});
