import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { isWithin, readManifest } from '../../../infrastructure/backup/manifest.ts';

describe('The manifest of a backup', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'manifest-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  it('is reported as missing only if there is none', () => {
    expect(() => readManifest(folder, 'data')).to.throw('backup.json is missing.');
    mkdirSync(join(folder, 'backup.json'));
    expect(() => readManifest(folder, 'data')).to.throw('backup.json cannot be read (EISDIR).');
  });
});

describe('A folder', () => {
  it('is within itself, its parents and the root, but not within a folder whose name it begins with', () => {
    const inner = join(tmpdir(), 'a', 'b');
    for (const outer of [inner, join(tmpdir(), 'a'), tmpdir(), '/'])
      expect(isWithin(inner, outer), outer).to.equal(true);
    for (const outer of [join(inner, 'c'), join(tmpdir(), 'a', 'bc'), `${tmpdir()}x`])
      expect(isWithin(inner, outer), outer).to.equal(false);
    expect(isWithin(join(tmpdir(), 'ab'), join(tmpdir(), 'a'))).to.equal(false);
  });
});
