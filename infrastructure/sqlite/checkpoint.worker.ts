import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** Makes a checkpoint of a database whenever it is told to, over a connection of its own. */
const port = parentPort;
if (port === null) throw new Error('this is the beginning of a thread');
if (typeof workerData !== 'string') throw new TypeError('the path of a database is needed');
const db = new DatabaseSync(workerData);
// What is copied must be on disk before the log that held it is begun anew.
db.exec('PRAGMA synchronous = FULL');
const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');

port.on('message', () => {
  // Where another connection is at it already, this says so and does nothing.
  checkpoint.get();
  port.postMessage('done');
});
