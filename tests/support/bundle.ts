import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';

/**
 * Bundles the server and `npm run admin` into few files for a run of all tests. Such a run starts hundreds of
 * processes, and loading a thousand modules takes half of a start (decision 44). A test that is run alone starts the
 * sources, as users do.
 */

const ROOT = join(import.meta.dirname, '../..');
const OUT = join(ROOT, 'node_modules/.cache/bundled');
const ENTRIES = [
  'api/main.ts',
  'api/admin/main.ts',
  'api/threads/projections.worker.ts',
  'api/threads/retrieval.worker.ts',
  'infrastructure/maintenance/maintenance.worker.ts',
  'infrastructure/embedding/embedder.worker.ts',
];

/**
 * Bundled code keeps the paths of its sources, next to which it finds data files, but starts the bundled files of
 * threads and processes. Packages that are imported dynamically stay outside, since the bundler hides the names that
 * a CommonJS module exports.
 */
const places: Plugin = {
  name: 'places',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^[^.]/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { external: true } : undefined,
    );
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const bundled = pathToFileURL(join(OUT, relative(ROOT, path))).href;
      return {
        loader: 'ts',
        contents: text
          .replace(/(\.worker|\/main)\.ts', import\.meta\.url/, `$1.js', ${JSON.stringify(bundled)}`)
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(path))),
      };
    });
  },
};

/** @returns the folder of the bundle, with the paths of the sources */
export const bundleProduct = async (): Promise<string> => {
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    outbase: ROOT,
    outdir: OUT,
    bundle: true,
    splitting: true,
    keepNames: true,
    // Less text to read at each start.
    minifyWhitespace: true,
    legalComments: 'none',
    platform: 'node',
    format: 'esm',
    // Packages with files or binaries of their own.
    external: ['@eventstore/db-client', 'mongodb', '@energetic-ai/*', '@node-rs/argon2'],
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    plugins: [places],
    logLevel: 'error',
  });
  // Without this, Node compiles each file once more to see whether it is a module.
  await writeFile(join(OUT, 'package.json'), '{"type":"module"}');
  return OUT;
};

/** A file of the product: of the bundle, if there is one. */
export const productFile = (path: string): string =>
  process.env.TEST_BUNDLE === undefined
    ? join(ROOT, path)
    : join(process.env.TEST_BUNDLE, path.replace(/\.ts$/, '.js'));
