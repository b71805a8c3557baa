import { expect } from 'chai';
import { majorText, placesOf } from '../../../console/src/kit/currency.ts';
import { minorOf } from '../../../console/src/pages/ledger/money-input.ts';
import { isCurrency, minorDigits } from '../../../domain/ledger/money.ts';

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const CODES = LETTERS.flatMap((a) => LETTERS.flatMap((b) => LETTERS.map((c) => a + b + c))).filter(
  isCurrency,
);

describe('Amounts of the Console', () => {
  it('have the decimal places that the ledger gives each currency', () => {
    expect(CODES.length).to.be.greaterThan(150);
    const places = (of: (code: string) => number) => CODES.map((code) => `${code} ${of(code)}`);
    expect(places(placesOf)).to.deep.equal(places(minorDigits));
  });

  it('are read as they are written', () => {
    for (const currency of ['EUR', 'HUF', 'JPY', 'IQD', 'CLF']) {
      expect(minorOf(majorText(123_456, currency), currency), currency).to.equal(123_456);
    }
    expect(minorOf('49,90', 'HUF')).to.equal(4990);
  });
});
