import { expect } from 'chai';
import { extractiveAnswerer, isCertain, NOTHING_CERTAIN } from '../../../application/assistant/answering.ts';
import { CERTAIN, confidenceOf, type Evidence } from '../../../application/assistant/confidence.ts';
import { quotesOf } from '../../../application/assistant/quoting.ts';
import type { Passage } from '../../../application/assistant/tenant-indexes.ts';

const passage = (title: string, texts: readonly string[], more: Partial<Passage> = {}): Passage => ({
  kind: 'entity_record',
  id: title,
  no: 0,
  cosines: texts.map(() => 0.5),
  cosine: 0.5,
  keyword: 0.5,
  coverage: 0.5,
  score: 0.5,
  margin: 0.1,
  confidence: 0.9,
  title,
  texts,
  ...more,
});

const evidence: Evidence = { cosine: 0.4, keyword: 0.4, coverage: 0.5, margin: 0.1, terms: 4 };

describe('confidence', () => {
  it('grows with cosine, keyword, coverage and margin', () => {
    for (const sign of ['cosine', 'keyword', 'coverage', 'margin'] as const)
      expect(confidenceOf({ ...evidence, [sign]: evidence[sign] + 0.2 }), sign).to.be.greaterThan(
        confidenceOf(evidence),
      );
  });

  it('is high for a passage with all the words of a question, and low for one with none', () => {
    const all = { cosine: 0.7, keyword: 0.75, coverage: 1, margin: 0.4, terms: 5 };
    expect(confidenceOf(all)).to.be.greaterThan(CERTAIN).and.at.most(1);
    const none = { cosine: 0.35, keyword: 0, coverage: 0, margin: 0.05, terms: 5 };
    expect(confidenceOf(none)).to.be.lessThan(CERTAIN).and.at.least(0);
  });
});

describe('an answer without a language model', () => {
  const boiler = passage('Repair 905 boiler', [
    'Building: Quay House\nProblem: No hot water since Tuesday',
    'Cause: Circulation pump seized; thermostat was fine\nCost: 780, charged to the owner',
  ]);
  const textsOf = (message: string, passages: readonly Passage[]) =>
    quotesOf(message, [], passages).flatMap(({ texts }) => texts);

  it('quotes word for word, under the title', async () => {
    const reply = await extractiveAnswerer('What did the boiler cost?', [], [boiler]);
    expect(reply).to.include('• Repair 905 boiler — ').and.to.include('“Cost: 780, charged to the owner”');
  });

  it('names the closest sources, without a quote, when no source is certain', async () => {
    const unsure = [boiler, passage('Boiler room key', ['It hangs in the hall.']), boiler].map((one) => ({
      ...one,
      confidence: CERTAIN - 0.01,
    }));
    expect(isCertain(unsure)).to.equal(false);
    const reply = await extractiveAnswerer('What did the boiler cost?', [], unsure);
    expect(reply).to.equal(`${NOTHING_CERTAIN}\n\n• Repair 905 boiler\n• Boiler room key`);
  });

  it('prefers a line with the kind of answer asked for (a time, a person), and quotes in text order', () => {
    const text = passage('Toll box fleet', [
      'Somebody lost one. The provider was told on 12 March at noon. Ms Berger blocked it.',
    ]);
    expect(textsOf('When was the provider told?', [text])).to.include(
      'The provider was told on 12 March at noon.',
    );
    expect(textsOf('Who blocked it?', [text])).to.include('Ms Berger blocked it.');
    const three = textsOf('What happened to the toll box?', [text]);
    expect(three).to.deep.equal(
      three.toSorted((a, b) => text.texts.join().indexOf(a) - text.texts.join().indexOf(b)),
    );
  });

  it('has at most three short sentences without a repeat', () => {
    const long = passage('Long', [
      `${'word '.repeat(200)}.`,
      ...Array.from({ length: 9 }, () => 'The same words again.'),
    ]);
    const found = textsOf('words again?', [long, { ...long, id: 'other' }]);
    expect(found.length).to.be.within(1, 3);
    for (const text of found) expect(text.length).to.be.at.most(321);
    expect(textsOf('same words?', [long]).length).to.equal(new Set(textsOf('same words?', [long])).size);
  });

  it('leaves out sources with clearly lower scores', () => {
    const far = passage('Another boiler', ['Cost: 12, charged to the owner'], { score: 0.3 });
    expect(quotesOf('What did the boiler cost?', [], [boiler, far]).map(({ title }) => title)).to.deep.equal([
      'Repair 905 boiler',
    ]);
  });

  it('adds the words of the earlier question when the question has none of its own', () => {
    const history = [{ role: 'user' as const, content: 'What did the boiler cost?' }];
    const found = quotesOf('And how much is it?', history, [boiler]).flatMap(({ texts }) => texts);
    expect(found).to.include('Cost: 780, charged to the owner');
  });
});
