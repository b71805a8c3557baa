import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { timeSlices } from '../../application/core/concurrency/time-slices.ts';
import { notFound } from '../../domain/core/errors.ts';
import { sliceOwnerOf } from '../http/checks.ts';
import { operatorRoute, type Reply, type Route, route } from '../http/route.ts';
import { policyOfFiles } from '../pages/page.ts';

/**
 * Serves the OpenAPI and AsyncAPI documents and pages to read them, from local files only. The generators of the
 * documents are loaded at the first request (decision 44).
 */

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Workflow platform: interface</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  persistAuthorization: true,
  validatorUrl: null,
});
`;

const HTML = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policyOfFiles(["img-src 'self' data:"]),
};

/** Files of swagger-ui-dist that are served. */
const PACKAGED: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
]);

const packagedFiles = new Map<string, Promise<Buffer>>();

/** Reads a file once; all answers share the bytes. */
const packagedFile = (name: string): Promise<Buffer> => {
  const known = packagedFiles.get(name) ?? readPackaged(name);
  packagedFiles.set(name, known);
  known.catch(() => packagedFiles.delete(name));
  return known;
};

const readPackaged = (name: string): Promise<Buffer> => {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return readFile(join(folder, name));
};

const asset = async (name: string): Promise<Reply> => {
  if (name === 'start.js') {
    return { status: 200, headers: { 'Content-Type': 'text/javascript; charset=utf-8' }, body: START };
  }
  if (name === 'events') {
    const [{ eventsPage }, { asyncApiDocument }] = await Promise.all([
      import('./events-page.ts'),
      import('./asyncapi.ts'),
    ]);
    return { status: 200, headers: HTML, body: eventsPage(asyncApiDocument()) };
  }
  if (name === 'events.css') {
    const { EVENTS_STYLE } = await import('./events-page.ts');
    return { status: 200, headers: { 'Content-Type': 'text/css; charset=utf-8' }, body: EVENTS_STYLE };
  }
  const type = PACKAGED.get(name);
  if (type === undefined) throw notFound();
  const headers = { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' };
  return { status: 200, headers, body: await packagedFile(name) };
};

/** @param routes described in the document, in addition to the routes that this function returns */
export const docsRoutes = (routes: readonly Route[]): readonly Route[] => {
  let making: Promise<Buffer> | undefined;
  const made = async (): Promise<Buffer> => {
    const { openApiDocument } = await import('./document.ts');
    const whole = await openApiDocument([...routes, ...own]);
    await timeSlices.of(sliceOwnerOf(undefined), 'openApiDocument').next();
    return Buffer.from(JSON.stringify(whole));
  };
  /** The bytes of the document, which the first request builds. */
  const document = async (): Promise<Buffer> => {
    making ??= made().catch((error: unknown) => {
      making = undefined;
      throw error;
    });
    const bytes = await making;
    // Otherwise all requests that waited for the document would be answered in one tick.
    await timeSlices.of(sliceOwnerOf(undefined), 'openApiDocument').next();
    return bytes;
  };
  const own: readonly Route[] = [
    route({
      ...operatorRoute,
      path: '/openapi.json',
      operationId: 'openApiDocument',
      summary: 'This document',
      description: 'OpenAPI 3.1. `npm run openapi` writes it without a server.',
      responses: { 200: z.looseObject({ openapi: z.string() }) },
      handle: async () => {
        const headers = { 'Content-Type': 'application/json; charset=utf-8' };
        return { status: 200, headers, body: await document() };
      },
    }),
    route({
      ...operatorRoute,
      path: '/asyncapi.json',
      operationId: 'asyncApiDocument',
      summary: 'The WebSocket and the webhooks for programs',
      description: 'AsyncAPI 3. `/docs/events` shows it as a page.',
      responses: { 200: z.looseObject({ asyncapi: z.string() }) },
      handle: async () => {
        const { asyncApiDocument } = await import('./asyncapi.ts');
        return { status: 200, body: asyncApiDocument() };
      },
    }),
    route({
      ...operatorRoute,
      path: '/docs',
      operationId: 'docs',
      produces: 'text/html',
      openQuery: true,
      summary: 'This document as a page',
      description:
        'A page that shows this document and sends requests from the browser. It loads nothing from other servers.',
      responses: { 200: null },
      handle: async () => ({ status: 200, headers: HTML, body: PAGE }),
    }),
    route({
      ...operatorRoute,
      path: '/docs/:file',
      operationId: 'docsFile',
      openQuery: true,
      summary: 'Files of the page, and the page of events',
      description: '`events` is the WebSocket and the webhooks as a page; the others are scripts and styles.',
      params: z.object({ file: z.string() }),
      responses: { 200: null },
      handle: async ({ params }) => asset(params.file),
    }),
  ];
  return own;
};
