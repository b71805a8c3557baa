import { createHash } from 'node:crypto';

export const LIMIT = 100_000;
export const BOUNDARY = 'the-boundary';
export const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

export interface Part {
  readonly name?: string;
  readonly filename?: string;
  readonly type?: string;
  readonly headers?: string;
  readonly content: string | Buffer;
}

const partHead = ({ name, filename, type, headers }: Part): string =>
  `--${BOUNDARY}\r\n${
    headers ??
    `Content-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n${
      type === undefined ? '' : `Content-Type: ${type}\r\n`
    }`
  }\r\n`;

export const form = (...parts: readonly Part[]): Buffer =>
  Buffer.concat([
    ...parts.flatMap((part) => [partHead(part), part.content, '\r\n'].map((piece) => Buffer.from(piece))),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);

export const file = (content: string | Buffer = 'hello', filename = 'a.txt', type = 'text/plain'): Part => ({
  name: 'file',
  filename,
  type,
  content,
});

export const digest = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex');
