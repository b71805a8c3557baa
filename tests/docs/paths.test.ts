import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const FOLDERS = 'api|application|bench|docs|domain|infrastructure|projections|tests';
/** Placeholders, a media type, and files of the guide's example area. */
const EXAMPLE = /<|NNNN|bookmarks|x-www-form/;

describe('Files that the documents name', () => {
  for (const page of ['README.md', ...globSync('docs/**/*.md').sort()]) {
    it(`exist: ${page}`, () => {
      const named = readFileSync(page, 'utf8').matchAll(new RegExp(`\`((?:${FOLDERS})/[\\w./<>-]+)\``, 'g'));
      const missing = [...named]
        .map(([, path = '']) => path)
        .filter((path) => !EXAMPLE.test(path) && !existsSync(path));
      expect(missing).to.deep.equal([]);
    });
  }
});
