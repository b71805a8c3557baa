import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { notFound } from '../../domain/core/errors.ts';
import { operatorRoute, type Reply, type Route, route } from '../http/route.ts';
import { policyOfFiles } from './page.ts';

/** Serves the example chat of `client/example` in development. It is not in the OpenAPI document. */

const FOLDER = join(import.meta.dirname, '../../client/example');

const CSP = policyOfFiles(['img-src data:'], "require-trusted-types-for 'script'");

const typed = (type: string, body: string): Reply => ({
  status: 200,
  headers: { 'Content-Type': `${type}; charset=utf-8`, 'Content-Security-Policy': CSP },
  body,
});

/** Bundled at the first request, by a development dependency. */
const bundled = async (): Promise<string> => {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [join(FOLDER, 'chat.ts')],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  return outputFiles.map(({ text }) => text).join('');
};

export const exampleRoutes = (): readonly Route[] => {
  let script: Promise<string> | undefined;
  const asset = async (name: string): Promise<Reply> => {
    if (name === 'chat.css') return typed('text/css', await readFile(join(FOLDER, name), 'utf8'));
    if (name !== 'chat.js') throw notFound();
    script ??= bundled();
    script.catch(() => {
      script = undefined;
    });
    return typed('text/javascript', await script);
  };
  const own = {
    ...operatorRoute,
    responses: { 200: null },
  } as const;
  return [
    route({
      ...own,
      path: '/examples/chat',
      operationId: 'exampleChat',
      summary: 'An example chat on the client, in development only',
      description: 'A page.',
      handle: async () => typed('text/html', await readFile(join(FOLDER, 'chat.html'), 'utf8')),
    }),
    route({
      ...own,
      path: '/examples/chat/:file',
      operationId: 'exampleChatFile',
      summary: 'Files of the example chat',
      description: 'Script and style of the page.',
      params: z.object({ file: z.string() }),
      handle: async ({ params }) => asset(params.file),
    }),
  ];
};
