import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * The build that wrote `tests/fixtures/former-data/2026-11.br`. Each release sets this to the build before it (decision
 * 53).
 */
const REVISION = '1c00760';

const LAYERS = ['api', 'application', 'domain', 'infrastructure', 'projections'];

export interface FormerBuild {
  /** Path of the build's `api/main.ts`. */
  readonly main: string;
  remove(): void;
}

/** The sources of the former build, from this repository's history, with the packages of this one. */
export const formerBuild = (): FormerBuild | string => {
  const folder = mkdtempSync(join(tmpdir(), 'former-build-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const archive = join(folder, 'sources.tar');
    execFileSync('git', ['archive', '--output', archive, REVISION, 'package.json', ...LAYERS], {
      stdio: 'ignore',
    });
    const sources = join(folder, 'sources');
    mkdirSync(sources);
    execFileSync('tar', ['-xf', archive, '-C', sources]);
    symlinkSync(resolve('node_modules'), join(sources, 'node_modules'));
    return { main: join(sources, 'api/main.ts'), remove };
  } catch {
    remove();
    return `revision ${REVISION} is not in the history of this clone`;
  }
};
