import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { eventCatalogue } from '../../docs/generate.ts';
import { readModelGuide } from '../../docs/read-models.ts';

describe('Generated documentation', () => {
  it('docs/events.md is what the event schemas say (else: npm run docs)', () => {
    expect(readFileSync('docs/events.md', 'utf8')).to.equal(eventCatalogue());
  });

  it('docs/read-models.md is what the projections make of events (else: npm run docs)', () => {
    expect(readFileSync('docs/read-models.md', 'utf8')).to.equal(readModelGuide());
  });
});
