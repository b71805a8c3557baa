import { expect } from 'chai';
import fc from 'fast-check';
import { csvRows, csvTable } from '../../../api/http/csv.ts';
import { cellOf, cellsOf, expectInert, hardText } from '../../support/csv.ts';

describe('CSV rows', () => {
  it('have no cell that a spreadsheet reads as a formula', () => {
    const live = [
      '=1+1',
      '+1',
      '-1',
      '@SUM(A1)',
      '\t=1',
      ' =1',
      '\u00a0=1',
      '\u200b=1',
      '\ufeff=1',
      '＝1',
      '＠x',
      '\tx',
    ];
    for (const each of live) expect(csvRows([[each, 'x']]), JSON.stringify(each)).to.match(/^"?'/);
    expect(csvRows([['\r\n=1', 'x']])).to.match(/^"'/);
    expect(csvRows([[-5, -5n, '-5']])).to.equal("-5,-5,'-5\r\n");
  });

  it('give an independent parser the same cells, none of them a formula', () => {
    const cell = fc.oneof(
      { weight: 3, arbitrary: hardText },
      fc.string({ unit: 'binary' }),
      fc.boolean(),
      fc.constantFrom(null, undefined, ''),
    );
    const row = fc.tuple(cell, cell, fc.oneof(fc.integer(), fc.bigInt()));
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
        const csv = csvRows([['one', 'two', 'amount'], ...rows]);
        expect(cellsOf(csv).slice(1)).to.deep.equal(
          rows.map(([one, two, amount]) => [cellOf(`${one ?? ''}`), cellOf(`${two ?? ''}`), String(amount)]),
        );
        expectInert(csv, ['amount']);
      }),
      { numRuns: 500 },
    );
  });

  it('of a table follow a row of column headings, which an empty table has too', () => {
    const columns = { name: (of: string) => of, 'length, in units': (of: string) => of.length };
    expect(csvTable(columns, ['ab', '=c'])).to.equal('name,"length, in units"\r\nab,2\r\n\'=c,2\r\n');
    expect(csvTable(columns, [])).to.equal('name,"length, in units"\r\n');
  });

  it('leave other cells unchanged, and quote them when necessary', () => {
    expect(csvRows([['a=b', 'x-y', ' a', 5, 0n, true, null, undefined]])).to.equal(
      'a=b,x-y, a,5,0,true,,\r\n',
    );
    expect(csvRows([['a\rb', 'c\nd', 'e\r\nf']])).to.equal('"a\rb","c\nd","e\r\nf"\r\n');
    expect(csvRows([['a,b', 'say "x"', 'two\nlines']])).to.equal('"a,b","say ""x""","two\nlines"\r\n');
  });
});
