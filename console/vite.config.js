import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npm run console:dev` serves the sources with the API of a server on this address. */
const api = process.env.API ?? 'http://127.0.0.1:3000';
const proxied = Object.fromEntries(
  ['/api', '/auth', '/super'].map((path) => [path, { target: api, ws: true }]),
);

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react()],
  server: { proxy: proxied },
  build: {
    // `light-dark()`, `Promise.withResolvers`: of the first half of 2024.
    target: ['chrome123', 'edge123', 'firefox121', 'safari17.5'],
    // The policy of the page allows neither inline scripts nor `data:` fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'assets/licences.md' },
    reportCompressedSize: false,
  },
});
