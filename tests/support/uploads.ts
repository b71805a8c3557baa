import { createHash } from 'node:crypto';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { z } from 'zod';
import type { Answer, Client, Options } from './client.ts';
import type { Server } from './server.ts';
import { uuid } from './shapes.ts';

/** The API of files. */

export const file = z.strictObject({
  id: uuid,
  filename: z.string(),
  content_type: z.string(),
  size: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  created_at: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
});
export const files = z.array(file);
export type File = z.output<typeof file>;

export const FILE_LIMIT = 25 * 1024 * 1024;

export const FILES = '/api/v1/tenant/files';

export const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');

export interface TestRecord {
  readonly entity: string;
  readonly id: string;
}

export const filesOf = ({ entity, id }: TestRecord): string =>
  `/api/v1/tenant/entities/${entity}/records/${id}/files`;

const BOUNDARY = 'a-boundary-of-the-tests';
export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

/** A form with one file; the name is put into the header unchanged. */
export const formWith = (content: Uint8Array | string, filename = 'a.txt', type = 'text/plain'): Buffer =>
  Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: ${type}\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);

export const upload = (
  api: Client,
  record: TestRecord,
  content: Uint8Array | string,
  { filename, type, headers }: { filename?: string; type?: string } & Pick<Options, 'headers'> = {},
): Promise<Answer> =>
  api.post(filesOf(record), undefined, {
    raw: new Uint8Array(formWith(content, filename, type)),
    headers: { 'content-type': MULTIPART, ...headers },
  });

export const uploaded = async (...args: Parameters<typeof upload>): Promise<File> =>
  (await upload(...args)).as(file, 201);

export interface Download {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Downloads a file as raw bytes. */
export const download = async (
  server: Server,
  token: string,
  id: string,
  options: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Download> => {
  const { method = 'GET', headers = {} } = options;
  const response = await fetch(`${server.base}${FILES}/${id}/content`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
};

/** An upload that has sent its first half and waits. */
export const beginUpload = (server: Server, token: string, record: TestRecord, content: Uint8Array) => {
  const body = formWith(content);
  const half = Math.floor(body.length / 2);
  const outgoing = request(`${server.base}${filesOf(record)}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': MULTIPART,
      'content-length': body.length,
    },
  });
  // Some tests break the connection, which is reported as an error.
  outgoing.on('error', () => undefined);
  outgoing.write(body.subarray(0, half));
  return {
    /** Aborts the connection. */
    abort: () => void outgoing.destroy(),
    /** Sends the rest. @returns the status of the answer */
    finish: (): Promise<number> =>
      new Promise((resolve, reject) => {
        outgoing.once('error', reject);
        outgoing.once('response', (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        outgoing.end(body.subarray(half));
      }),
  };
};

/** Paths of complete and incomplete blobs in a data folder. @param tenantId default: complete ones of all tenants */
export const blobsIn = async (
  dataDir: string,
  tenantId = '',
): Promise<{ whole: string[]; half: string[] }> => {
  const folder = join(dataDir, 'blobs');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const isHalf = (path: string): boolean => path.startsWith(join(folder, '.incoming'));
  const isOwn = (path: string): boolean => path.startsWith(join(folder, tenantId));
  return { whole: paths.filter((path) => !isHalf(path) && isOwn(path)), half: paths.filter(isHalf) };
};

/** Number of files in the server's blob folder that its process has open. */
export const openBlobs = async ({ pid, dataDir }: Server): Promise<number> => {
  const folder = `/proc/${pid}/fd`;
  const targets = await Promise.all(
    (await readdir(folder)).map((name) => readlink(join(folder, name)).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(join(dataDir, 'blobs'))).length;
};

/** Resident memory of a process in MiB: present and peak. */
export const memoryOf = async ({ pid }: Server): Promise<{ now: number; highest: number }> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1024;
  return { now: mib('VmRSS'), highest: mib('VmHWM') };
};
