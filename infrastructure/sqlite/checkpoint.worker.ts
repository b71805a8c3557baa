import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** Checkpoints a database once per message, over its own connection. */
const port = parentPort;
if (port === null) throw new Error('this is the beginning of a thread');
if (typeof workerData !== 'string') throw new TypeError('the path of a database is needed');
const db = new DatabaseSync(workerData);
// Copied pages must be durable before the log is reused.
db.exec('PRAGMA synchronous = FULL');
const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');

port.on('message', () => {
  // Does nothing while another connection runs a checkpoint.
  checkpoint.get();
  port.postMessage('done');
});
