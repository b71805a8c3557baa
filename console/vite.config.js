import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npm run console:dev` serves the sources with the API of a server on this address. */
const api = process.env.API ?? 'http://127.0.0.1:3000';
const proxied = Object.fromEntries(
  ['/api', '/auth', '/super', '/public', '/metrics', '/docs'].map((path) => [
    path,
    { target: api, ws: true },
  ]),
);

/** Chunks that every visit runs: `app` at the start, `signed-in` after the sign-in. */
const FIRST = ['app', 'signed-in'];

/**
 * Makes the browser compile all functions of the first chunks on another thread while the chunks arrive. Most of these
 * functions are called at the start, and would otherwise be compiled on the page's own thread at the first call.
 * https://v8.dev/blog/explicit-compile-hints
 */
const compileHints = {
  name: 'compile-hints',
  apply: 'build',
  enforce: 'post',
  generateBundle: {
    order: 'post',
    handler(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type === 'chunk' && FIRST.includes(chunk.name)) {
          chunk.code = `//# allFunctionsCalledOnLoad\n${chunk.code}`;
        }
      }
    },
  },
};

/** Preloads the chunk that signed-in people need, so that it arrives together with the first script. */
const preloads = {
  name: 'preloads',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle }) {
      return Object.values(bundle ?? {})
        .filter(({ type, name }) => type === 'chunk' && name === 'signed-in')
        .map(({ fileName }) => ({
          tag: 'link',
          attrs: { rel: 'modulepreload', crossorigin: true, href: `/console/${fileName}` },
          injectTo: 'head',
        }));
    },
  },
};

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react(), compileHints, preloads],
  server: { proxy: proxied },
  build: {
    // The first versions with `light-dark()` and `Promise.withResolvers` (December 2023 to May 2024).
    target: ['chrome123', 'edge123', 'firefox121', 'safari17.5'],
    // The policy of the page allows neither inline scripts nor `data:` fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'assets/licences.md' },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Few files at the start, since each file costs a request and time of the page's thread.
        codeSplitting: {
          groups: [
            { name: 'app', test: /console\/src\/main\.tsx$/, priority: 2 },
            { name: 'signed-in', test: /console\/src\/shell\/signed-in\.tsx$/, priority: 1 },
          ],
        },
      },
    },
  },
});
