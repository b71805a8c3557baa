import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import Negotiator from 'negotiator';
import { z } from 'zod';
import { DomainError, notFound } from '../../domain/core/errors.ts';
import { operatorRoute, type Reply, type Route, type RouteRequest, route } from '../http/route.ts';
import { policyOfFiles } from './page.ts';

/** Serves the Console (decision 61): the files of `console/dist`, and its page at `/console` and five levels below. */

const DIST = join(import.meta.dirname, '../../console/dist');

const CSP = policyOfFiles(
  ["img-src 'self' data: blob:", "font-src 'self'"],
  "require-trusted-types-for 'script'",
);

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': CSP,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  // The page names the files of this build; the files of the next build have other names.
  'Cache-Control': 'no-cache',
};

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Types with a compressed form beside the file; font files are compressed already. */
const COMPRESSED = new Set(['.css', '.html', '.js', '.md', '.svg']);
const SUFFIX: ReadonlyMap<string, string> = new Map([
  ['br', '.br'],
  ['gzip', '.gz'],
]);

const ENCODINGS = ['br', 'gzip', 'identity'] as const;

/** Characters of `Accept-Encoding` that are parsed, far more than browsers send; bounds the parser's work. */
const MAX_ACCEPT_ENCODING_LENGTH = 500;

const encodingFor = (accepted: string | string[] | undefined): string | undefined => {
  if (typeof accepted !== 'string') return undefined;
  const headers = { 'accept-encoding': accepted.slice(0, MAX_ACCEPT_ENCODING_LENGTH) };
  const [best] = ENCODINGS;
  const taken = new Negotiator({ headers }).encodings([...ENCODINGS]);
  return taken.includes(best) ? best : taken[0];
};

/** Answers with a file below `folder`, in an encoding that the client accepts; undefined when there is no such file. */
const fileReply = async (
  folder: string,
  name: string,
  headers: RouteRequest<never, never, never>['headers'],
): Promise<Reply | undefined> => {
  const isCompressed = COMPRESSED.has(extname(name));
  const encoding = isCompressed ? encodingFor(headers['accept-encoding']) : undefined;
  const suffix = SUFFIX.get(encoding ?? '');
  const body = await readFile(join(folder, name + (suffix ?? ''))).catch(() => undefined);
  if (body === undefined) return undefined;
  return {
    status: 200,
    headers: {
      ...(suffix === undefined ? {} : { 'Content-Encoding': encoding ?? '' }),
      ...(isCompressed ? { Vary: 'Accept-Encoding' } : {}),
    },
    body,
  };
};

const NOT_BUILT =
  'The Console is not built. Install the development dependencies and run `npm run console:build`.';

/** Names of files that may be read from the folder. */
const ASSET = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/;
/** Names with a hash of the content, so that changed content has another name. */
const HASHED = /-[A-Za-z0-9_-]{8}\.[a-z0-9]+$/;

/** Deep links: the Console routes them itself. */
const DEEP = ['a', 'a/:b', 'a/:b/:c', 'a/:b/:c/:d', 'a/:b/:c/:d/:e'].map((path) => `/console/:${path}`);

/** @param folder of the build; default: `console/dist` */
export const consoleRoutes = (folder = DIST): readonly Route[] => {
  const own = { ...operatorRoute, openQuery: true, responses: { 200: null } } as const;
  return [
    route({
      ...own,
      path: '/console',
      aliases: DEEP,
      operationId: 'console',
      summary: 'The Console',
      description: 'A page of the Console; every path below it answers with the same page.',
      handle: async ({ headers }) => {
        const reply = await fileReply(folder, 'index.html', headers);
        if (reply === undefined) throw new DomainError('not_found', NOT_BUILT);
        return { ...reply, headers: { ...PAGE_HEADERS, ...reply.headers } };
      },
    }),
    route({
      ...own,
      path: '/console/assets/:file',
      operationId: 'consoleFile',
      summary: 'Files of the Console',
      description: 'Scripts, styles and fonts.',
      params: z.object({ file: z.string() }),
      handle: async ({ params: { file }, headers }) => {
        const type = TYPES[extname(file)];
        if (type === undefined || !ASSET.test(file)) throw notFound();
        const reply = await fileReply(join(folder, 'assets'), file, headers);
        if (reply === undefined) throw notFound();
        const caching = HASHED.test(file) ? 'public, max-age=31536000, immutable' : 'public, max-age=3600';
        return { ...reply, headers: { 'Content-Type': type, 'Cache-Control': caching, ...reply.headers } };
      },
    }),
  ];
};
