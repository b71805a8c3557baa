import { expect } from 'chai';
import { csvRows } from '../../../api/http/csv.ts';

describe('Rows of CSV', () => {
  it('have no cell that a spreadsheet would run', () => {
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
  });

  it('leave everything else as it is, quoted where it must be', () => {
    expect(csvRows([['a=b', 'x-y', ' a', 5, 0n, true, null, undefined]])).to.equal(
      'a=b,x-y, a,5,0,true,,\r\n',
    );
    expect(csvRows([['a\rb', 'c\nd', 'e\r\nf']])).to.equal('"a\rb","c\nd","e\r\nf"\r\n');
    expect(csvRows([['a,b', 'say "x"', 'two\nlines']])).to.equal('"a,b","say ""x""","two\nlines"\r\n');
  });
});
