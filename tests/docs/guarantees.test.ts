import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { expect } from 'chai';

const rows = [...readFileSync('docs/guarantees.md', 'utf8').matchAll(/\| `([^`]+)` › (.+?) \|$/gm)].map(
  ([, path = '', title = '']) => ({ path, title }),
);

const textOf = (path: string): string =>
  statSync(path).isDirectory()
    ? globSync(`${path}/**/*.ts`)
        .map((file) => readFileSync(file, 'utf8'))
        .join('\n')
    : readFileSync(path, 'utf8');

describe('The guarantees page', () => {
  it('names tests', () => {
    expect(rows.length).to.be.greaterThan(10);
  });

  for (const { path, title } of rows) {
    it(`names a test that exists: ${path} › ${title}`, () => {
      expect(existsSync(path), path).to.equal(true);
      expect(textOf(path)).to.contain(title);
    });
  }
});
