import { Readable } from 'node:stream';
import { expect } from 'chai';
import { Assistant } from '../../../application/assistant/assistant.ts';
import type { Retrieval } from '../../../application/assistant/retrieval.ts';
import { textKindOf } from '../../../application/assistant/texts/attachment-text.ts';
import { csvText } from '../../../application/assistant/texts/csv.ts';
import { decodedText } from '../../../application/assistant/texts/decode.ts';
import { recordText } from '../../../application/assistant/texts/record-text.ts';
import { streamSafe } from '../../../application/assistant/texts/stream-safe.ts';
import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import type { Streams } from '../../../application/core/commands/streams.ts';
import type { Field } from '../../../domain/entities/fields.ts';

describe('texts that are expensive to process', function () {
  this.timeout(60_000);
  const inTime = (work: () => unknown): void => {
    const begun = performance.now();
    work();
    expect(performance.now() - begun).to.be.lessThan(5000);
  };
  const MARKS = '\u0301\u0323';

  it('are limited to thirty marks per character and then normalised quickly', async () => {
    const bytes = Buffer.from(`a${MARKS.repeat(400_000)}b`);
    const text = await decodedText(Readable.from([bytes]), 1_000_000);
    expect(text).to.equal(`a${MARKS.repeat(15)}b`);
    inTime(() => streamSafe(`a${MARKS.repeat(400_000)}`).normalize('NFC'));
    const name: Field = { key: 'name', label: 'Name', type: 'long_text', required: false };
    const record = recordText({ label: 'Order', fields: [name] }, { name: `a${MARKS.repeat(50_000)}` });
    expect(record.text).to.have.length('Name: a'.length + 30);
    for (const plain of ['Ha\u0308user', 'नमस्ते', '👩‍👩‍👧‍👦', 'e\u0301'.repeat(100)])
      expect(streamSafe(plain)).to.equal(plain);
  });

  it('are limited to thirty marks per character in a question and in earlier messages', async () => {
    const read: string[] = [];
    const retrieve: Retrieval['retrieve'] = async (_tenantId, message, history = []) => {
      read.push(message, ...history.map(({ content }) => content));
      return [];
    };
    const assistant = new Assistant({
      retrieval: { retrieve } as Retrieval,
      answerer: async () => '',
      // Only the call that stores the question.
      streams: { of: () => ({ execute: async () => ({}) }) } as unknown as Streams,
      metrics: { questionAsked: () => undefined },
    });
    const content = `a${'\u0f73'.repeat(3999)}`;
    const question = { message: content, history: [{ role: 'user' as const, content }] };
    await assistant.ask('acme', question, { newId: () => 'id' } as RequestContext);
    expect(read).to.deep.equal(Array(2).fill(content.slice(0, 31)));
  });

  it('do not grow by long column names', () => {
    const rows = '1,2\n'.repeat(100_000);
    const long = csvText(`${'A'.repeat(200_000)},b\n${rows}`, 1_000_000);
    expect(long.length).to.be.within(1_000_000, 1_000_200);
    expect(long.split('\n')[0]).to.equal(`${'A'.repeat(80)}: 1; b: 2`);
    const wide = Array.from({ length: 100_000 }, (_, n) => `${'C'.repeat(70)}${n}`).join(',');
    expect(csvText(`${wide}\n${'1,'.repeat(100_000)}`, 10_000)).to.have.length.within(10_000, 10_200);
  });

  it('are cut into rows quickly with any quoting', () => {
    for (const part of ['1,2\n', '"x,\n', '",', '"', '"""",', '"""\n', '"a"",', ',', '\n'])
      inTime(() => csvText(`a,b\n${part.repeat(1_600_000 / part.length)}`, 1_700_000));
  });

  it('are not assumed in files with a name or type such as `constructor`, a member of every object', () => {
    for (const filename of ['x.constructor', 'constructor', '.tostring', 'x.valueof'])
      expect(textKindOf({ filename, content_type: 'image/png' })).to.equal(undefined);
    expect(textKindOf({ filename: 'x', content_type: 'constructor' })).to.equal(undefined);
  });
});
