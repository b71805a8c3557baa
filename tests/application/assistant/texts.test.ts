import { Readable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import { attachmentText, textKindOf } from '../../../application/assistant/texts/attachment-text.ts';
import { csvText } from '../../../application/assistant/texts/csv.ts';
import { decodedText } from '../../../application/assistant/texts/decode.ts';
import { recordText } from '../../../application/assistant/texts/record-text.ts';
import type { Field } from '../../../domain/entities/fields.ts';

const inPieces = (bytes: Uint8Array, size: number): Readable =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size));
    })(),
  );
const decoded = (bytes: Uint8Array, size = 3, max = 1_000_000) => decodedText(inPieces(bytes, size), max);

describe('the text of an attachment', () => {
  it('is decoded as UTF-8 with chunks cut anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (text, size) => {
          const plain = text.replace(/\p{Cc}|\ufffd|\ufeff/gu, '');
          expect(await decoded(Buffer.from(plain), size)).to.equal(plain.toWellFormed());
        },
      ),
    );
  });

  it('is decoded as UTF-16 by its byte order mark', async () => {
    const little = Buffer.from('\ufeffHello 😀', 'utf16le');
    expect(await decoded(little)).to.equal('Hello 😀');
    expect(await decoded(Buffer.from(little).swap16())).to.equal('Hello 😀');
    expect(await decoded(Buffer.from('\ufeffHello'))).to.equal('Hello');
  });

  it('is empty for bytes that are not text', async () => {
    const random = Uint8Array.from({ length: 5000 }, (_, index) => (index * 7919 + 13) % 251);
    const noise = Uint8Array.from({ length: 5000 }, (_, index) => 128 + ((index * 31) % 127));
    for (const bytes of [random, noise, Buffer.from('text\0text'), Buffer.from('%PDF-1.7\n\x01\x02')])
      expect(await decoded(bytes, 1000)).to.equal(undefined);
    expect(await decoded(Buffer.alloc(0))).to.equal('');
  });

  it('skips a few broken bytes', async () => {
    const bytes = Buffer.from(`Caf\xe9 ${'and a longer text '.repeat(5)}`, 'latin1');
    expect(await decoded(bytes)).to.match(/^Caf and a longer text/);
  });

  it('ends at its limit without reading the rest', async () => {
    let read = 0;
    const endless = Readable.from(
      (function* () {
        for (;;) {
          read += 1;
          yield Buffer.from('0123456789'.repeat(100));
        }
      })(),
    );
    expect(await decodedText(endless, 5000)).to.have.length(5000);
    expect(read).to.be.lessThan(100);
    expect(endless.destroyed).to.equal(true);
  });

  it('is recognised by content type or name', () => {
    const kind = (filename: string, content_type: string) => textKindOf({ filename, content_type });
    expect(kind('a', 'text/plain; charset=utf-8')).to.equal('text');
    expect(kind('a.csv', 'application/vnd.ms-excel')).to.equal('csv');
    expect(kind('a.csv', 'text/plain')).to.equal('csv');
    expect(kind('README.MD', 'application/octet-stream')).to.equal('text');
    expect(kind('a', 'text/markdown')).to.equal('text');
    expect(kind('a.png', 'image/png')).to.equal(undefined);
    expect(kind('csv', 'application/pdf')).to.equal(undefined);
    expect(kind('page.html', 'text/html')).to.equal(undefined);
  });

  it('has table rows with column names', async () => {
    const bytes = Readable.from([Buffer.from('Room;Price\r\n12;"3""4;0"\r\n;\r\n14;"two\nlines"\r\n')]);
    const facts = { filename: 'rooms.csv', content_type: 'text/csv' };
    expect(await attachmentText(facts, bytes)).to.deep.equal({
      title: 'rooms.csv',
      text: 'Room: 12; Price: 3"4;0\nRoom: 14; Price: two lines',
    });
  });

  it('keeps the quotes of a table that never closes a quote, and the text of a file without a table', () => {
    expect(csvText('a,b\n1,"x\n2,y\n')).to.equal('a: 1; b: "x\na: 2; b: y');
    expect(csvText('a,"b\n1,x\n')).to.equal('a: 1; "b: x');
    for (const text of ['', 'a,b', 'a,b\n', 'one\ntwo\n', 'just "a line'])
      expect(csvText(text), JSON.stringify(text)).to.equal(text);
  });

  it('is made for any file that is called CSV, and has every word of the cells', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', ',', '"', '\n', '\r', ';', '\t', '|'), maxLength: 60 }),
        (text) => {
          expect(csvText(text)).to.be.a('string');
        },
      ),
      { numRuns: 500 },
    );
    const cell = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 6 }), (rows) => {
        const text = csvText(
          ['one,two', ...rows.map((row) => row.map((each) => `"${each}"`).join(','))].join('\n'),
        );
        expect(text).to.equal(rows.map(([a, b]) => `one: ${a}; two: ${b}`).join('\n'));
      }),
    );
    const before = performance.now();
    csvText(`a,b\n${'"x'.repeat(100_000)}`);
    expect(performance.now() - before, 'no quadratic search for a closing quote').to.be.lessThan(10_000);
  });
});

describe('the text of a record', () => {
  const field = (key: string, type: Field['type'], label = key.toUpperCase()): Field => ({
    key,
    label,
    type,
    required: false,
  });

  it('has labels and values in schema order and the record’s name', () => {
    const schema = {
      label: 'Order',
      fields: [
        field('note', 'long_text', 'Note'),
        field('name', 'text', 'Name'),
        field('paid', 'boolean', 'Paid'),
        field('sum', 'decimal', 'Sum'),
      ],
    };
    expect(recordText(schema, { sum: '12.50', name: ' Lyon ', paid: false, note: 'a\nb' })).to.deep.equal({
      title: 'Order: Lyon',
      text: 'Note: a\nb\nName: Lyon\nPaid: no\nSum: 12.50',
    });
  });

  it('has no ids of other records or users, and no removed fields', () => {
    const schema = {
      label: 'Order',
      fields: [field('customer', 'reference'), field('owner', 'user'), field('place', 'text')],
    };
    expect(recordText(schema, { customer: 'id-1', owner: 'id-2', removed: 'x' })).to.deep.equal({
      title: 'Order',
      text: '',
    });
    expect(recordText(schema, { place: 'x'.repeat(500) }).title).to.have.length(167);
  });
});
