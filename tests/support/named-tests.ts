import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { expect } from 'chai';

/**
 * Tests that a page of `docs/` names as `` `path` › title `` in a table's last cell; several are separated by `<br>`.
 */
export const namedTests = (page: string): { readonly path: string; readonly title: string }[] =>
  [...readFileSync(page, 'utf8').matchAll(/`(tests\/[^`]+)` › (.+?)(?= \|$|<br>)/gm)].map(
    ([, path = '', title = '']) => ({ path, title }),
  );

const textOf = (path: string): string =>
  statSync(path).isDirectory()
    ? globSync(`${path}/**/*.ts`)
        .map((file) => readFileSync(file, 'utf8'))
        .join('\n')
    : readFileSync(path, 'utf8');

/** Declares one test per named test. The title may be the beginning of a title with a template. */
export const checkNamedTests = (page: string): void => {
  for (const { path, title } of namedTests(page)) {
    it(`names a test that exists: ${path} › ${title}`, () => {
      expect(existsSync(path), path).to.equal(true);
      expect(textOf(path)).to.contain(title);
    });
  }
};
