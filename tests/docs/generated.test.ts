import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { configurationGuide, exampleEnvironment } from '../../docs/configuration.ts';
import { eventCatalogue } from '../../docs/generate.ts';
import { readModelGuide } from '../../docs/read-models.ts';

describe('Generated documentation', () => {
  it('docs/events.md matches the event schemas (else: npm run docs)', () => {
    expect(readFileSync('docs/events.md', 'utf8')).to.equal(eventCatalogue());
  });

  it('docs/read-models.md matches the projections (else: npm run docs)', () => {
    expect(readFileSync('docs/read-models.md', 'utf8')).to.equal(readModelGuide());
  });

  it('docs/configuration.md and .env.example match the variables (else: npm run docs)', () => {
    expect(readFileSync('docs/configuration.md', 'utf8')).to.equal(configurationGuide());
    expect(readFileSync('.env.example', 'utf8')).to.equal(exampleEnvironment());
  });
});
