import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewEvent } from '../application/ports/event-store.ts';
import { openDatabase } from '../infrastructure/event-store/sqlite/schema.ts';
import { openSqliteEventStore } from '../infrastructure/event-store/sqlite/store.ts';

const CALLERS = 64;
const TYPES = 40;
const DATA = JSON.stringify({ text: 'x'.repeat(190) });
const METADATA = JSON.stringify({ tenant_id: 'acme', actor: 'y'.repeat(60) });

interface Rates {
  /** Events per second through the adapter; each caller waits for its acknowledgement. */
  readonly adapter: number;
  /** Events per second of a plain loop that writes the same rows into the same tables, 64 per transaction. */
  readonly raw: number;
}

/** Appends one 300-byte event at a time from 64 concurrent callers, over 64 streams by default. */
export async function benchAppend(streams = CALLERS, rounds = 1500): Promise<Rates> {
  const events = Array.from({ length: CALLERS * rounds }, (_, n) => event(n));
  const raw: number[] = [];
  const adapter: number[] = [];
  // The sides alternate, and the best of three runs counts, since other load on the machine slows either side at
  // times.
  for (let run = 0; run < 3; run += 1) {
    raw.push(await inNewFolder((path) => rawRate(path, events, streams)));
    adapter.push(await inNewFolder((path) => adapterRate(path, events, streams)));
  }
  return { adapter: Math.max(...adapter), raw: Math.max(...raw) };
}

function event(n: number): NewEvent {
  return { id: randomUUID(), type: `Type${n % TYPES}`, data: DATA, metadata: METADATA };
}

function nameOf(stream: number): string {
  return `acme.conversation-${stream}`;
}

async function adapterRate(path: string, events: readonly NewEvent[], streams: number): Promise<number> {
  const store = openSqliteEventStore({ path });
  const revisions = new Array<number>(streams).fill(-1);
  let next = 0;
  const caller = async (): Promise<void> => {
    for (;;) {
      const n = next++;
      const event = events[n];
      if (!event) return;
      const stream = n % streams;
      const last = revisions[stream] ?? -1;
      revisions[stream] = last + 1;
      await store.append(nameOf(stream), last < 0 ? 'no_stream' : last, [event]);
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const rate = (events.length / (performance.now() - start)) * 1000;
  await store.close();
  return rate;
}

async function rawRate(path: string, events: readonly NewEvent[], streams: number): Promise<number> {
  const db = openDatabase(path);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const stream = db.prepare('INSERT INTO streams (id, name) VALUES (?, ?)');
  const type = db.prepare('INSERT INTO types (id, name) VALUES (?, ?)');
  const insert = db.prepare(`INSERT INTO events (position, stream_id, revision, type_id, id, data, metadata)
    VALUES (?, ?, ?, ?, ?, ?, ?)`);
  for (let id = 0; id < TYPES; id += 1) type.run(id + 1, `Type${id}`);
  const revisions = new Array<number>(streams).fill(-1);
  const start = performance.now();
  for (let n = 0; n < events.length; ) {
    begin.run();
    for (const { id, data, metadata } of events.slice(n, n + CALLERS)) {
      const s = n % streams;
      const revision = (revisions[s] ?? -1) + 1;
      revisions[s] = revision;
      if (revision === 0) stream.run(s + 1, nameOf(s));
      n += 1;
      insert.run(n, s + 1, revision, (n % TYPES) + 1, id, data, metadata);
    }
    commit.run();
  }
  const rate = (events.length / (performance.now() - start)) * 1000;
  db.close();
  return rate;
}

async function inNewFolder<T>(run: (path: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-append-'));
  try {
    return await run(join(folder, 'events.db'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  for (const streams of [CALLERS, 2000]) {
    const { adapter, raw } = await benchAppend(streams);
    const ratio = (adapter / raw).toFixed(2);
    console.log(
      `${streams} streams: adapter ${Math.round(adapter)}/s, raw ${Math.round(raw)}/s, ratio ${ratio}`,
    );
  }
}
