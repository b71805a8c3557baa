import { expect } from 'chai';
import fc from 'fast-check';
import { contentType, fileName, isActiveType } from '../../../domain/files/filename.ts';

describe('The name of a file', () => {
  const cases: readonly (readonly [given: string | undefined, kept: string])[] = [
    ['report.pdf', 'report.pdf'],
    ['Übersicht 2026.csv', 'Übersicht 2026.csv'],
    ['日本語.txt', '日本語.txt'],
    ['👩‍👧.png', '👩‍👧.png'],
    ['/etc/passwd', 'passwd'],
    ['../../../etc/passwd', 'passwd'],
    ['C:\\Users\\me\\secret.doc', 'secret.doc'],
    ['a/b\\c/d.txt', 'd.txt'],
    ['..', 'file'],
    ['.', 'file'],
    ['...', 'file'],
    ['../', 'file'],
    ['', 'file'],
    ['   ', 'file'],
    ['\u0000\u0001', 'file'],
    [undefined, 'file'],
    ['.gitignore', '.gitignore'],
    ['name. . .', 'name'],
    [' padded.txt ', 'padded.txt'],
    ['a\r\nSet-Cookie: x=1.txt', 'aSet-Cookie: x=1.txt'],
    ['a\u0000b.txt', 'ab.txt'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['\u2066a\u2069\u200e\u200f\u061c.txt', 'a.txt'],
    ['\ufeffbom\u2028.txt', 'bom.txt'],
    ['"quoted" & <b>.txt', '"quoted" & <b>.txt'],
    ['e\u0301.txt', '\u00e9.txt'],
    ['\ud800lone.txt', '\ufffdlone.txt'],
    [`${'x'.repeat(300)}.txt`, `${'x'.repeat(251)}.txt`],
    ['😀'.repeat(300), '😀'.repeat(255)],
    [`x.${'y'.repeat(300)}`, `x.${'y'.repeat(253)}`],
  ];
  for (const [given, kept] of cases) {
    it(`${JSON.stringify(given)?.slice(0, 40)} is kept as ${JSON.stringify(kept).slice(0, 40)}`, () => {
      expect(fileName(given)).to.equal(kept);
    });
  }

  const parts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('/', '\\', '.', '..', ' ', '\u202e', '\0', '\r\n', 'e\u0301', '\ud800', 'x'.repeat(250)),
  );
  const names = fc.array(parts, { maxLength: 8 }).map((all) => all.join(''));

  it('is always displayable and storable, and stable under cleaning', () => {
    fc.assert(
      fc.property(names, (given) => {
        const name = fileName(given);
        expect([...name].length).to.be.within(1, 255);
        expect(name).not.to.match(/[/\\\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
        expect(name.isWellFormed()).to.equal(true);
        expect(name.normalize('NFC')).to.equal(name);
        expect(['.', '..']).not.to.include(name);
        expect(fileName(name)).to.equal(name);
      }),
      { numRuns: 2000 },
    );
  });

  it('is cleaned quickly, whatever fills the header of a part', () => {
    for (const filling of ['.', ' ', '. ', '\u0301', '\u0301\u0323', '\u202e', '/']) {
      const name = `a${filling.repeat(16_000 / filling.length)}b`;
      const begun = performance.now();
      fileName(name);
      expect(performance.now() - begun, JSON.stringify(filling)).to.be.lessThan(50);
    }
  });
});

describe('The content type of a file', () => {
  const octets = 'application/octet-stream';
  const cases: readonly (readonly [given: string | undefined, kept: string])[] = [
    ['text/csv', 'text/csv'],
    ['Text/CSV; charset=utf-8', 'text/csv'],
    [
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    ],
    [undefined, octets],
    ['', octets],
    ['text', octets],
    ['text/', octets],
    ['/csv', octets],
    ['text/csv/x', octets],
    ['text/c sv', octets],
    ['text/csv\r\nX: y', octets],
    ['téxt/plain', octets],
    [`text/${'x'.repeat(101)}`, octets],
  ];
  for (const [given, kept] of cases) {
    it(`${JSON.stringify(given)?.slice(0, 40)} is kept as ${kept}`, () => {
      expect(contentType(given)).to.equal(kept);
    });
  }

  it('is recognised when a browser could run it', () => {
    for (const type of [
      'text/html',
      'application/xhtml+xml',
      'image/svg+xml',
      'text/xml',
      'application/xml',
      'application/rss+xml',
      'text/javascript',
      'application/javascript',
      'application/x-javascript',
      'text/css',
      'multipart/x-mixed-replace',
      'message/rfc822',
      'application/x-shockwave-flash',
    ]) {
      expect(isActiveType(type), type).to.equal(true);
    }
    for (const type of ['text/plain', 'text/csv', 'text/markdown', 'image/png', 'application/pdf', octets]) {
      expect(isActiveType(type), type).to.equal(false);
    }
  });
});
