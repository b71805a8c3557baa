import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { select } from '../filters.ts';
import { LinePages } from './line-pages.ts';
import { type FromLines, lineThreadData, toLines } from './line-protocol.ts';

/** Makes pages of lines of an event log, over a connection of its own that cannot write. */
const port = parentPort;
if (port === null) throw new Error('this is the beginning of a thread');
const { path, members } = lineThreadData.parse(workerData);
const pages = new LinePages(new DatabaseSync(path, { readOnly: true }), members);

const say = (message: FromLines, given: readonly ArrayBuffer[] = []): void =>
  port.postMessage(message, [...given]);

port.on('message', (received: unknown) => {
  const { id, after, until, filter, room } = toLines.parse(received);
  try {
    const page = pages.page(after, until, select(filter), room);
    // Given away, not copied. What is empty may be shared by pages.
    const given = page.lines === undefined || page.events === 0 ? [] : [page.lines.buffer, page.texts.buffer];
    say({ kind: 'page', id, page }, given);
  } catch (error) {
    say({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) });
  }
});
say({ kind: 'ready' });
