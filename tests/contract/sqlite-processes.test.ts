import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { EventStore } from '../../application/ports/event-store.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { events, follow, idsOf, newPrefix } from './event-store-parts/helpers.ts';

const CHILD = join(import.meta.dirname, 'event-store-parts', 'sqlite-child.ts');

describe('SQLite event store: several connections and processes', function () {
  this.timeout(60_000);
  let folder = '';
  let path = '';
  const stores: EventStore[] = [];
  const children: ChildProcess[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'event-store-'));
    path = join(folder, 'events.db');
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    for (const store of stores.splice(0)) await store.close();
    rmSync(folder, { recursive: true });
  });

  function open(): EventStore {
    const store = openSqliteEventStore({ path });
    stores.push(store);
    return store;
  }

  /** Keeps lines as they arrive, so that a child's output is available after its end. */
  function start(...args: string[]): { child: ChildProcess; lines: string[]; ended: Promise<unknown> } {
    const child = spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    if (!child.stdout) throw new Error('the child has a pipe');
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    // `close` follows the last output, `exit` may precede it.
    return { child, lines, ended: once(child, 'close') };
  }

  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await sleep(2);
  }

  it('show two stores and a second process every event once, in one order, while all of them write', async () => {
    const prefix = newPrefix();
    const [one, two] = [open(), open()];
    const filter = { streamPrefix: prefix };
    // Two local stores each write 4 × 60 and the child 4 × 50, all to the same four streams.
    const total = 2 * 240 + 200;
    const full = (all: readonly unknown[]) => all.length >= total;
    const local = [one, one, two].map((store) => follow(store, { filter }, full));
    const child = start('share', path, prefix, String(total));
    await until(() => child.lines.includes('ready'));
    const write = async (store: EventStore, writer: number): Promise<void> => {
      for (let n = 0; n < 60; n += 1) await store.append(`${prefix}s-${writer}`, 'any', events(1));
    };
    await Promise.all([one, two].flatMap((store) => [0, 1, 2, 3].map((writer) => write(store, writer))));
    const seen = (await Promise.all(local)).map((followed) => idsOf(followed.events));
    await child.ended;
    seen.push(child.lines.slice(1));
    const log = idsOf(await one.readAll({ filter, limit: 10_000 }));
    expect(new Set(log).size).to.equal(total);
    for (const order of seen) expect(order).to.deep.equal(log);
  });

  it('check expected revisions against another connection’s latest writes', async () => {
    const prefix = newPrefix();
    const [one, two] = [open(), open()];
    const stream = `${prefix}s-1`;
    for (let n = 0; n < 50; n += 1) {
      const racers = [one, two].map((store) =>
        store.append(stream, n === 0 ? 'no_stream' : n - 1, events(1)),
      );
      const results = await Promise.allSettled(racers);
      expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    }
    expect(await two.readStream(stream)).to.have.length(50);
  });

  it('keep every acknowledged event exactly once through kill -9', async () => {
    const prefix = newPrefix();
    const acknowledged: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { child, lines, ended } = start('loop', path, prefix);
      await until(() => lines.length >= 200);
      child.kill('SIGKILL');
      await ended;
      acknowledged.push(...lines.filter((line) => line.length === 36));
    }
    const store = open();
    const log = idsOf(await store.readAll({ filter: { streamPrefix: prefix }, limit: 1_000_000 }));
    expect(new Set(log).size).to.equal(log.length);
    const kept = new Set(log);
    expect(acknowledged.filter((id) => !kept.has(id))).to.deep.equal([]);
    expect(log.length).to.be.at.least(acknowledged.length);
  });

  it('let the process exit while a subscriber waits', async () => {
    const { child, lines, ended } = start('idle', path);
    await ended;
    expect(lines).to.deep.equal(['waiting']);
    expect(child.exitCode).to.equal(0);
  });
});
