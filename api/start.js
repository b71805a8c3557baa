import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * `npm start`. Keeps compiled modules beside the packages (decision 44); without write access nothing is kept. This
 * file is JavaScript, so that the cache is on before the first TypeScript file loads Node's compiler. Worker threads
 * read the variable.
 */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/compiled');
enableCompileCache(process.env.NODE_COMPILE_CACHE);
await import('./main.ts');
