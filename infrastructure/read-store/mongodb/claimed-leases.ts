import type { Db } from 'mongodb';
import type { Lease } from '../../../application/ports/read-store.ts';
import { insertOnce, numberIn, type Row, textIn } from '../../mongodb/calls.ts';
import { type Leases, LONGEST_MS } from './leases.ts';

/**
 * Leases for servers without update pipelines (FerretDB 1.x). Their updates are not atomic: they read, and then write, so
 * two compare-and-set updates may both succeed. Only inserting an `_id` is atomic, so each change of the holder inserts a
 * claim `<lease>#<fence>`; the highest claim holds the lease, and only its owner changes it. Times are the server's, from
 * `hello.localTime`.
 *
 * One weakness: an owner that renews an *expired* lease while another takes it over may believe for one more period that
 * it is the holder. The fence still stops its writes.
 */
export function claimedLeases(db: Db): Leases {
  const claims = db.collection<Row>('meta_lease_claims');

  async function highest(name: string): Promise<Row | undefined> {
    const [top] = await claims.find({ lease: name }).sort({ fence: -1 }).limit(1).toArray();
    return top;
  }

  async function now(): Promise<number> {
    const { localTime }: { localTime?: unknown } = await db.command({ hello: 1 });
    if (!(localTime instanceof Date)) throw new TypeError('the server does not tell its time');
    return localTime.getTime();
  }

  async function renew(row: Row, owner: string, expires: number): Promise<Lease | undefined> {
    const name = textIn(row, 'lease');
    await claims.updateOne({ _id: row._id }, { $set: { expires_at: expires } });
    const top = await highest(name);
    return top?._id === row._id ? { name, owner, fence: numberIn(row, 'fence') } : undefined;
  }

  function isHeldAt(row: Row, time: number, ttlMs = 0): boolean {
    const left = numberIn(row, 'expires_at') - time;
    return row.owner !== null && left > 0 && left <= Math.max(ttlMs, LONGEST_MS);
  }

  async function fenceOf(name: string): Promise<number | undefined> {
    const top = await highest(name);
    return top === undefined ? undefined : numberIn(top, 'fence');
  }

  return {
    async acquire(name, owner, ttlMs) {
      const [top, time] = [await highest(name), await now()];
      if (top !== undefined && top.owner === owner) return renew(top, owner, time + ttlMs);
      if (top !== undefined && isHeldAt(top, time, ttlMs)) return undefined;
      const fence = top === undefined ? 1 : numberIn(top, 'fence') + 1;
      const claim = { _id: `${name}#${fence}`, lease: name, fence, owner, expires_at: time + ttlMs };
      if (!(await insertOnce(claims, claim))) return undefined;
      // Only the highest claim counts; the previous one is kept, since its owner may still look for it.
      await claims.deleteMany({ lease: name, fence: { $lt: fence - 1 } });
      return { name, owner, fence };
    },
    async release({ name, owner, fence }) {
      await claims.updateOne({ _id: `${name}#${fence}`, owner }, { $set: { owner: null, expires_at: 0 } });
    },
    async isHeld(name) {
      const [top, time] = [await highest(name), await now()];
      return top !== undefined && isHeldAt(top, time);
    },
    fenceOf,
    async fencesOf(names) {
      const fences = await Promise.all(names.map(async (name) => ({ name, fence: await fenceOf(name) })));
      return new Map(fences.flatMap(({ name, fence }) => (fence === undefined ? [] : [[name, fence]])));
    },
  };
}
