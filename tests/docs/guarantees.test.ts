import { expect } from 'chai';
import { checkNamedTests, namedTests } from '../support/named-tests.ts';

const PAGE = 'docs/guarantees.md';

describe('The guarantees page', () => {
  it('names tests', () => {
    expect(namedTests(PAGE).length).to.be.greaterThan(10);
  });

  checkNamedTests(PAGE);
});
