import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { OF_CHILDREN } from '../support/server.ts';
import { endWorld, startWorld } from '../support/world.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const CLIENT = join(ROOT, 'client');

/** The packed package in a project of its own, as a customer installs it. */
describe('The package of the client', () => {
  let folder: string;

  before(async function () {
    this.timeout(120_000);
    folder = await mkdtemp(join(tmpdir(), 'client-package-'));
    // A copy, so that tests at the same time do not build into one folder.
    const copy = join(folder, 'client');
    await cp(CLIENT, copy, { recursive: true, filter: (path) => !/client\/(node_modules|dist)/.test(path) });
    await symlink(join(CLIENT, 'node_modules'), join(copy, 'node_modules'));
    await mkdir(join(folder, 'node_modules'));
    for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types', 'undici-types']) {
      await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
    }
    const { stdout } = await run('npm', ['pack', '--silent'], { cwd: copy });
    await run('tar', ['xf', join(copy, stdout.trim().split('\n').at(-1) ?? '')], { cwd: folder });
    await cp(join(folder, 'package'), join(folder, 'node_modules/workflow-platform-client'), {
      recursive: true,
    });
  });
  after(async () => {
    await endWorld();
    await rm(folder, { recursive: true, force: true });
  });

  it('holds ES modules and types, and depends on openapi-fetch only', async () => {
    const { stdout } = await run('find', ['package', '-type', 'f'], { cwd: folder });
    const files = stdout.trim().split('\n');
    expect(files).to.include.members([
      'package/dist/index.js',
      'package/dist/index.d.ts',
      'package/README.md',
    ]);
    expect(
      files.filter((file) => !/^package\/(dist\/[a-z]+\.(d\.ts|js)|package\.json|README\.md)$/.test(file)),
    ).to.deep.equal([]);
    const { dependencies } = JSON.parse(await readFile(join(folder, 'package/package.json'), 'utf8'));
    expect(Object.keys(dependencies)).to.deep.equal(['openapi-fetch']);
  });

  it('runs its README as one program, which strict TypeScript accepts', async () => {
    const readme = await readFile(join(CLIENT, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code);
    expect(blocks.length).to.be.at.least(5);
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await writeFile(join(folder, 'readme.ts'), blocks.join('\n'));
    const options = [
      '--strict',
      '--noEmit',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--lib',
      'es2024,esnext.disposable',
    ];
    const checked = await run(
      join(CLIENT, 'node_modules/.bin/tsc'),
      [...options, '--types', 'node', 'readme.ts'],
      {
        cwd: folder,
      },
    ).catch((error: { stdout: string }) => error);
    expect(checked.stdout).to.equal('');
    const world = await startWorld({
      env: { DEMO: '1', PLATFORM_ADMIN_EMAIL: undefined, PLATFORM_ADMIN_PASSWORD: undefined },
    });
    const passwords = ['ada', 'ben'].map(
      (name) => new RegExp(`${name}@demo\\.example\\s+(\\S+)`).exec(world.server.output())?.[1] ?? '',
    );
    const { stdout } = await run(process.execPath, ['readme.ts'], {
      cwd: folder,
      env: { ...OF_CHILDREN, API: world.server.base, ADA_PASSWORD: passwords[0], BEN_PASSWORD: passwords[1] },
      timeout: 60_000,
    });
    for (const line of [
      'signed in as Ada Demo',
      'refused: validation_failed',
      'shall we begin?',
      'exported events',
      'Ben heard: Are you there?',
      'kept the position',
      'listening',
    ]) {
      expect(stdout).to.contain(line);
    }
  }).timeout(120_000);
});
