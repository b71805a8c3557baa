import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { access, cp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Builds FerretDB 1.24, with changes that make it faster, for tests of the MongoDB adapters. */

const run = promisify(execFile);
const SOURCE = import.meta.dirname;
const BUILD = join(SOURCE, '.build');
/** Leaves out FerretDB's PostgreSQL storage, whose driver takes long to build, and data that only debuggers read. */
const OPTIONS = ['-tags=ferretdb_no_postgresql', '-trimpath', '-ldflags=-s -w', '-gcflags=all=-dwarf=false'];

interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const MODULE = 'github.com/FerretDB/FerretDB';
/** Folders and files of its source that the build needs. */
const PARTS = ['build', 'ferretdb', 'internal', 'go.mod'];
const SQLITE = 'internal/backends/sqlite';
/** A file of this folder that is added to a package of FerretDB. */
const ADDED = { file: `${SQLITE}/faster.go`, source: 'faster/sqlite.go' };
/** Each text occurs once in its file. */
const CHANGES: readonly Change[] = [
  {
    file: `${SQLITE}/collection.go`,
    from: '\tq += whereClause\n',
    to: '\twhereClause, args = whereID(params.Filter)\n\tq += whereClause\n',
  },
  {
    file: `${SQLITE}/query_iterator.go`,
    from: 'doc, err = sjson.Unmarshal(b)',
    to: 'doc, err = decode(b)',
  },
  {
    file: `${SQLITE}/query_iterator.go`,
    from: '\t"github.com/FerretDB/FerretDB/internal/handler/sjson"\n',
    to: '',
  },
  // A check for leaks that takes a stack trace of each iterator.
  {
    file: 'internal/util/resource/resource.go',
    from: 'func Track(obj any, token *Token) {',
    to: 'func Track(obj any, token *Token) {\n\treturn',
  },
  {
    file: 'internal/util/resource/resource.go',
    from: 'func Untrack(obj any, token *Token) {',
    to: 'func Untrack(obj any, token *Token) {\n\treturn',
  },
];

const ENVIRONMENT = {
  ...process.env,
  GOFLAGS: '-mod=readonly -buildvcs=false',
  CGO_ENABLED: '0',
  // Each compiler ends before its garbage is worth collecting.
  GOGC: '400',
};

const go = (...args: readonly string[]) => run('go', [...args], { cwd: SOURCE, env: ENVIRONMENT });

/** A copy of FerretDB's source with the changes. */
const changedSource = async (folder: string): Promise<void> => {
  await go('mod', 'download', MODULE);
  const original = (await go('list', '-m', '-f', '{{.Dir}}', MODULE)).stdout.trim();
  for (const part of PARTS) await cp(join(original, part), join(folder, part), { recursive: true });
  await writeFile(join(folder, ADDED.file), await readFile(join(SOURCE, ADDED.source)));
  for (const { file, from, to } of CHANGES) {
    const path = join(folder, file);
    const text = await readFile(path, 'utf8');
    if (text.split(from).length !== 2)
      throw new Error(`${file} of FerretDB does not have this once: ${from}`);
    // The files of Go's cache are read-only.
    await rm(path);
    await writeFile(
      path,
      text.replace(from, () => to),
    );
  }
};

/**
 * Builds FerretDB unless it is built. The binary's name contains a hash of its sources, so that changed sources are
 * rebuilt.
 * @returns the binary
 */
export const buildFerretDb = async (): Promise<string> => {
  const names = globSync(['*.go', 'go.*', 'faster/*.go', 'without/**/*.{go,mod}'], { cwd: SOURCE }).sort();
  const sources = await Promise.all(names.map((name) => readFile(join(SOURCE, name))));
  const version = createHash('sha256')
    .update(OPTIONS.join(' ') + JSON.stringify(CHANGES))
    .update(Buffer.concat(sources))
    .digest('hex')
    .slice(0, 16);
  const binary = join(BUILD, `ferretdb-${version}`);
  const built = await access(binary).then(
    () => true,
    () => false,
  );
  if (built) return binary;
  const [unfinished, changed] = [`${binary}.${process.pid}`, join(BUILD, `source.${process.pid}`)];
  // Fails before any other step when Go is missing.
  await go('version');
  console.log('      building FerretDB (once, about half a minute) …');
  try {
    await changedSource(changed);
    const modules = join(changed, 'with-changes.mod');
    const replaced = `replace ${MODULE} => ${changed}`;
    await writeFile(modules, `${await readFile(join(SOURCE, 'go.mod'), 'utf8')}\n${replaced}\n`);
    await cp(join(SOURCE, 'go.sum'), join(changed, 'with-changes.sum'));
    const building = go('build', ...OPTIONS, `-modfile=${modules}`, '-o', unfinished, '.');
    // Low priority, so that the compiler does not slow the running tests.
    if (building.child.pid !== undefined) setPriority(building.child.pid, constants.priority.PRIORITY_LOW);
    await building;
  } finally {
    await rm(changed, { recursive: true, force: true });
  }
  await rename(unfinished, binary);
  return binary;
};
