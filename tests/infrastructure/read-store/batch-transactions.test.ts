import { expect } from 'chai';
import fc from 'fast-check';
import { Fenced } from '../../../application/ports/read-store.ts';
import type { Row } from '../../../infrastructure/mongodb/calls.ts';
import {
  type BatchTransaction,
  type RowsOfBatch,
  writeBatch,
} from '../../../infrastructure/read-store/mongodb/commits.ts';

/** Each event sets one document, so that the documents at each checkpoint are known. */
const DOCS = ['a', 'b', 'c'];
const EVENTS = Array.from({ length: 12 }, (_, nth) => ({ id: DOCS[(nth * 7) % 3] ?? '', position: nth + 1 }));
const text = (position: number): string => String(position).padStart(4, '0');
const stateAt = (checkpoint: string): Record<string, string> =>
  Object.fromEntries(
    EVENTS.filter(({ position }) => text(position) <= checkpoint).map(({ id, position }) => [
      id,
      text(position),
    ]),
  );

class Conflict extends Error {}
type Stored = ReadonlyMap<string, string>;
type Wait = (step: string) => Promise<void>;

/** Imitates MongoDB's transactions: snapshots, and the first of two writers of a row wins. */
class FakeDatabase {
  docs: Stored = new Map();
  row = { fence: 1, checkpoint: '' };
  lease = 1;
  readonly commits: number[] = [];

  async transaction(
    fence: number,
    checkpoint: string,
    wait: Wait,
    work: (transaction: BatchTransaction<string>) => Promise<void>,
  ): Promise<void> {
    const [docs, row] = [this.docs, this.row];
    const written = new Map<string, string>();
    let next = row;
    await work({
      positions: async (_, ids) => {
        await wait('positions');
        return new Map(ids.flatMap((id) => (docs.has(id) ? [[id, docs.get(id) ?? '']] : [])));
      },
      replace: async (_, rows) => {
        await wait('replace');
        for (const { _id, position } of rows) written.set(_id, String(position));
      },
      advance: async () => {
        await wait('advance');
        if (this.row !== row) throw new Conflict();
        if (row.fence > fence || row.checkpoint > checkpoint) throw new Fenced('moved on');
        next = { fence, checkpoint };
      },
    });
    await wait('commit');
    if (this.row !== row) throw new Conflict();
    if ([...written.keys()].some((id) => this.docs.get(id) !== docs.get(id))) throw new Conflict();
    this.docs = new Map([...docs, ...written]);
    this.row = next;
    this.commits.push(fence);
  }

  /** Changes the holder of the lease: first the lease, then the generation's row. */
  async handOver(fence: number, wait: Wait): Promise<void> {
    this.lease = fence;
    await wait('barrier');
    this.row = { ...this.row, fence };
  }
}

/** Folds all events in batches of `size` from the stored checkpoint, as the holder of `fence`. */
async function fold(database: FakeDatabase, fence: number, size: number, wait: Wait): Promise<void> {
  await wait('begin');
  const from = EVENTS.findIndex(({ position }) => text(position) > database.row.checkpoint);
  for (let at = from; at >= 0 && at < EVENTS.length; at += size) {
    const batch = EVENTS.slice(at, at + size);
    const checkpoint = text(batch.at(-1)?.position ?? 0);
    const last = new Map(batch.map(({ id, position }) => [id, text(position)]));
    const all: Row[] = [...last].map(([_id, position]) => ({ _id, position }));
    const rows: RowsOfBatch<string>[] = [{ collection: 'docs', all }];
    for (let tries = 0; ; tries += 1) {
      if (database.lease !== fence) throw new Fenced('the lease is another’s');
      try {
        await database.transaction(fence, checkpoint, wait, (transaction) =>
          writeBatch(rows, () => wait('between'), transaction),
        );
        break;
      } catch (error) {
        if (!(error instanceof Conflict) || tries > 20) throw error;
      }
    }
  }
}

const unlessFenced = (work: Promise<void>): Promise<void> =>
  work.catch((error: unknown) => {
    if (!(error instanceof Fenced)) throw error;
  });

describe('Batches in transactions', () => {
  it('are visible as a whole, and never from a holder that has lost its lease, in any order of steps', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.integer({ min: 1, max: 5 }), async (scheduler, size) => {
        const database = new FakeDatabase();
        const step =
          (who: string): Wait =>
          async (name) => {
            await scheduler.schedule(Promise.resolve(), `${who} ${name}`);
            // A reader finds exactly the documents of the checkpoint.
            expect(Object.fromEntries(database.docs)).to.deep.equal(stateAt(database.row.checkpoint));
          };
        const old = unlessFenced(fold(database, 1, size, step('old')));
        const next = (async () => {
          await step('next')('waits');
          await database.handOver(2, step('next'));
          const before = database.commits.length;
          await fold(database, 2, size + 1, step('next'));
          expect(database.commits.slice(before).every((fence) => fence === 2)).to.equal(true);
        })();
        const both = Promise.all([old, next]);
        await scheduler.waitFor(both);
        await both;
        expect(Object.fromEntries(database.docs)).to.deep.equal(stateAt('9'));
      }),
      { numRuns: 500 },
    );
  });

  it('leave newer documents unchanged', async () => {
    const replaced: Row[] = [];
    const rows = [{ collection: 'docs', all: ['a', 'b', 'c'].map((_id) => ({ _id, position: text(2) })) }];
    const steps: string[] = [];
    await writeBatch(rows, async () => void steps.push('between'), {
      positions: async () =>
        new Map([
          ['a', text(3)],
          ['b', text(1)],
        ]),
      replace: async (_, all) => {
        replaced.push(...all);
      },
      advance: async () => void steps.push('advance'),
    });
    expect(replaced.map(({ _id }) => _id)).to.deep.equal(['b', 'c']);
    expect(steps).to.deep.equal(['between', 'advance']);
  });
});
