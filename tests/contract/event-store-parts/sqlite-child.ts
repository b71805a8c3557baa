/**
 * A second process on the same log, for the SQLite tests: `node sqlite-child.ts <mode> <path> <prefix> [count]`.
 * Prints a line per result.
 */
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { event, events, follow, followerOf, idsOf } from './helpers.ts';

const [mode, path = '', prefix = '', count = '0'] = process.argv.slice(2);
const store = openSqliteEventStore({ path });

/** Appends from several callers until killed, and prints each acknowledged id. */
async function loop(): Promise<void> {
  const write = async (writer: number): Promise<void> => {
    for (;;) {
      const one = event();
      await store.append(`${prefix}s-${writer}`, 'any', [one]);
      process.stdout.write(`${one.id}\n`);
    }
  };
  await Promise.all([0, 1, 2, 3].map(write));
}

/** Writes its share while it follows the log from the start, and prints all ids in the order received. */
async function share(): Promise<void> {
  const total = Number(count);
  // Keeps the process alive, which a waiting subscriber does not.
  const alive = setInterval(() => {}, 1000);
  const filter = { streamPrefix: prefix };
  const following = follow(store, { filter }, (all) => all.length >= total);
  process.stdout.write('ready\n');
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; n < 50; n += 1) await store.append(`${prefix}s-${writer}`, 'any', events(1));
  };
  await Promise.all([0, 1, 2, 3].map(write));
  for (const id of idsOf((await following).events)) process.stdout.write(`${id}\n`);
  clearInterval(alive);
  await store.close();
}

/** Subscribes and leaves the store open, which must not keep the process alive. */
async function idle(): Promise<void> {
  await followerOf(store).run({ signal: new AbortController().signal }, (batch) => {
    if (batch.caughtUp) process.stdout.write('waiting\n');
  });
}

if (mode === 'loop') void loop();
if (mode === 'share') void share();
if (mode === 'idle') void idle();
