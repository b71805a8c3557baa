import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';

/** `npm run console:build`: writes `console/dist`, each text file with compressed copies (`.br`, `.gz`). */

const HERE = import.meta.dirname;
const DIST = join(HERE, 'dist');

/** Folder of the new build, renamed to `dist` at the end, so that a running server never serves a partial build. */
const fresh = `${DIST}.${process.pid}`;
await build({
  configFile: join(HERE, 'vite.config.js'),
  logLevel: 'warn',
  build: { outDir: fresh, emptyOutDir: true },
});

const compress = async (/** @type {string} */ name) => {
  const file = join(fresh, name);
  const text = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: text.length };
  writeFileSync(`${file}.br`, await promisify(brotliCompress)(text, { params }));
  writeFileSync(`${file}.gz`, await promisify(gzip)(text, { level: 9 }));
};
await Promise.all(globSync('**/*.{html,js,css,svg,md}', { cwd: fresh }).map(compress));

const former = `${fresh}.former`;
if (existsSync(DIST)) renameSync(DIST, former);
renameSync(fresh, DIST);
rmSync(former, { recursive: true, force: true });
