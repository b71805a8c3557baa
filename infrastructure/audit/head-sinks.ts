import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { HeadSink } from '../../application/ports/audit-heads.ts';
import type { OutboundHttp } from '../../application/ports/outbound-http.ts';
import { syncFolder } from '../durable-files.ts';
import { makeFolder } from '../private-files.ts';

const TIMEOUT_MS = 10_000;
const LINE_FEED = 0x0a;

/** Appends each head as a line of JSON to the tenant's file. The line is durable when `receive` resolves. */
export const folderSink = (folder: string): HeadSink => ({
  receive: async (head) => {
    makeFolder(resolve(folder));
    await using file = await open(join(folder, `${head.tenant_id}.ndjson`), 'a+', 0o600);
    const { size } = await file.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    // A line truncated by a crash must not corrupt the next one.
    const gap = size > 0 && last[0] !== LINE_FEED ? '\n' : '';
    await file.appendFile(`${gap}${JSON.stringify(head)}\n`);
    await file.datasync();
    await syncFolder(folder);
  },
});

/** POSTs each head as JSON; any 2xx acknowledges it. */
export const urlSink = (url: string, http: OutboundHttp): HeadSink => ({
  receive: async (head, signal) => {
    const answer = await http.request(
      {
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(head),
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: 1024,
      },
      signal,
    );
    if (answer.kind !== 'answered') throw new Error(`${answer.kind}: ${answer.message}`);
    if (answer.status < 200 || answer.status > 299) throw new Error(`answered ${answer.status}`);
  },
});
