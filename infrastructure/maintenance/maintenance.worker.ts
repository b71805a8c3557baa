import { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';
import { type LogHeads, openLogHeads } from '../audit/log-heads.ts';
import type { FromMaintenance, MaintenanceTask } from './maintenance-thread.ts';

const port = parentPort;
if (port === null) throw new Error('this is the beginning of a thread');

/** Last revisions are copied for this time (ms) per message, so that the caller can stop between messages. */
const MOMENT_MS = 50;

const logs = new Map<string, LogHeads>();
const files = new Map<string, DatabaseSync>();

const copyHeads = (path: string, log: string): string | undefined => {
  let heads = logs.get(path);
  if (heads === undefined) {
    heads = openLogHeads(path, log);
    logs.set(path, heads);
  }
  const began = performance.now();
  for (;;) {
    const { position, isEnd } = heads.step();
    if (isEnd || performance.now() - began >= MOMENT_MS) return position;
  }
};

const checkpoint = (path: string): void => {
  let db = files.get(path);
  if (db === undefined) {
    db = new DatabaseSync(path);
    // Copied pages must be durable before the write-ahead log is reused.
    db.exec('PRAGMA synchronous = FULL');
    files.set(path, db);
  }
  // Passive: takes no lock that a writer needs, and does nothing while another connection runs a checkpoint.
  db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
};

const perform = (task: MaintenanceTask): string | undefined => {
  switch (task.kind) {
    case 'checkpoint':
      checkpoint(task.path);
      return undefined;
    case 'heads':
      return copyHeads(task.path, task.log);
    default:
      return task satisfies never;
  }
};

/** Closes the connection of a failed task; the next task opens another one. */
const forget = ({ kind, path }: MaintenanceTask): void => {
  const of = kind === 'heads' ? logs : files;
  of.get(path)?.close();
  of.delete(path);
};

port.on('message', (task: MaintenanceTask) => {
  const answer = (message: FromMaintenance): void => port.postMessage(message);
  try {
    answer({ kind: 'done', position: perform(task) });
  } catch (error) {
    forget(task);
    answer({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
  }
});
