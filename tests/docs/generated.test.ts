import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { eventCatalogue } from '../../docs/generate.ts';

describe('Generated documentation', () => {
  it('docs/events.md is what the event schemas say (else: npm run docs)', () => {
    expect(readFileSync('docs/events.md', 'utf8')).to.equal(eventCatalogue());
  });
});
