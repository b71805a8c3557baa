import { createReadStream, createWriteStream } from 'node:fs';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import type { z } from 'zod';
import type { StoredBlob } from '../../application/ports/blob-store.ts';
import { measure, measured } from '../blob-store/refs.ts';
import { MoveError } from './manifest.ts';

/** Files of an export: one line of JSON per item, with a checksum at its end. */

interface LineFile extends StoredBlob {
  readonly lines: number;
}

const LINE_FEED = 0x0a;
const SUM = /^(\{.+),"crc":"([0-9a-f]{8})"\}$/s;
/** Maximum bytes of a line. The longest ones, stored answers to previews of 100,000 ids, have 5 MB. */
const LONGEST = 16 * 1024 * 1024;

const sumOf = (text: string): string => crc32(text).toString(16).padStart(8, '0');

const lineOf = (item: object): string => {
  const text = JSON.stringify(item).slice(0, -1);
  return `${text},"crc":"${sumOf(text)}"}\n`;
};

/** Writes a new file that is durable when this resolves. */
export const writeLines = async (path: string, items: AsyncIterable<object>): Promise<LineFile> => {
  const { add, total } = measure();
  let lines = 0;
  const bytes = async function* () {
    for await (const item of items) {
      const line = Buffer.from(lineOf(item));
      add(line);
      lines += 1;
      yield line;
    }
  };
  await pipeline(Readable.from(bytes()), createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }));
  return { lines, ...total() };
};

/**
 * Reads the items of a file one at a time.
 * @throws {MoveError} with the number of a damaged line
 */
export async function* readLines<S extends z.ZodType>(path: string, schema: S): AsyncGenerator<z.output<S>> {
  let nth = 0;
  for await (const bytes of linesIn(path)) {
    nth += 1;
    const [, text, sum] = SUM.exec(bytes.toString('utf8')) ?? [];
    const item =
      text !== undefined && sumOf(text) === sum ? schema.safeParse(JSON.parse(`${text}}`)) : undefined;
    if (item?.success !== true) throw new MoveError(`Line ${nth} of ${basename(path)} is damaged.`);
    yield item.data;
  }
}

/** Checks every line, and that the file is the one of the manifest. @throws {MoveError} */
export const checkLines = async (path: string, schema: z.ZodType, wanted: LineFile): Promise<void> => {
  let lines = 0;
  for await (const _ of readLines(path, schema)) lines += 1;
  if (lines !== wanted.lines) {
    throw new MoveError(`${basename(path)} has ${lines} lines, but the export wrote ${wanted.lines}.`);
  }
  if ((await measured(opened(path))).sha256 !== wanted.sha256) {
    throw new MoveError(`${basename(path)} was changed after the export: its checksum differs.`);
  }
};

const opened = (path: string): Readable => createReadStream(path, { highWaterMark: 256 * 1024 });

async function* linesIn(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let size = 0;
  for await (const chunk of opened(path)) {
    // A read stream without an encoding yields buffers.
    const bytes = chunk as Buffer;
    let from = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, from)) {
      yield Buffer.concat([...rest, bytes.subarray(from, end)]);
      rest = [];
      size = 0;
      from = end + 1;
    }
    rest.push(bytes.subarray(from));
    size += bytes.length - from;
    if (size > LONGEST) throw new MoveError(`${basename(path)} has a line that is too long.`);
  }
  // The last line of a truncated file.
  if (size > 0) yield Buffer.concat(rest);
}
