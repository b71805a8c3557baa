import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { checkNamedTests, namedTests } from '../support/named-tests.ts';

const PAGE = 'docs/security.md';

describe('The security page', () => {
  it('names a test in every row of its attacks', () => {
    const [, attacks = ''] = readFileSync(PAGE, 'utf8').split('\n## Attacks\n');
    const rows = attacks
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith('| attack'));
    expect(rows?.length).to.be.greaterThan(40);
    for (const row of rows ?? []) expect(row).to.match(/\| `tests\/[^`]+` › .+ \|$/);
    expect(namedTests(PAGE).length).to.be.at.least(rows?.length ?? 0);
  });

  checkNamedTests(PAGE);
});
