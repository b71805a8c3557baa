import type { Db } from 'mongodb';
import { type Lease, LONGEST_LEASE_MS } from '../../../application/ports/read-leases.ts';
import { insertOnce, numberIn, type Row, textIn, whereId } from '../../mongodb/calls.ts';
import type { Leases } from './leases.ts';

/**
 * Leases for servers without update pipelines (FerretDB 1.x). Updates of such a server are not atomic: the server
 * reads and then writes, so two compare-and-set updates may both succeed. Only inserting an `_id` is atomic, so each
 * change of the holder inserts a claim `<lease>#<fence>`; the highest claim holds the lease, and only the claim's
 * owner changes the claim. Times are the server's, from `hello.localTime`.
 *
 * One weakness: an owner that renews an *expired* lease while another takes it over may believe for one more period
 * that it is the holder. The fence still stops the owner's writes.
 */
export function claimedLeases(db: Db): Leases {
  const claims = db.collection<Row>('meta_lease_claims');

  /** The highest claim of each lease; one scan for all, since FerretDB indexes only `_id`. */
  async function highestOf(names: readonly string[]): Promise<ReadonlyMap<string, Row>> {
    const [only] = names;
    const asked = names.length === 1 && only !== undefined ? only : { $in: [...names] };
    const tops = new Map<string, Row>();
    for (const row of await claims.find({ lease: asked }).toArray()) {
      const name = textIn(row, 'lease');
      const known = tops.get(name);
      if (known === undefined || numberIn(row, 'fence') > numberIn(known, 'fence')) tops.set(name, row);
    }
    return tops;
  }

  async function now(): Promise<number> {
    const { localTime }: { localTime?: unknown } = await db.command({ hello: 1 });
    if (!(localTime instanceof Date)) throw new TypeError('the server does not tell its time');
    return localTime.getTime();
  }

  const leaseOf = (row: Row, owner: string): Lease => ({
    name: textIn(row, 'lease'),
    owner,
    fence: numberIn(row, 'fence'),
  });

  /** @returns the leases that no other process took over meanwhile, by name */
  async function renew(
    rows: readonly Row[],
    owner: string,
    expires: number,
  ): Promise<ReadonlyMap<string, Lease>> {
    if (rows.length === 0) return new Map();
    await claims.updateMany(whereId(rows.map(({ _id }) => _id)), { $set: { expires_at: expires } });
    const tops = await highestOf(rows.map((row) => textIn(row, 'lease')));
    const kept = rows.filter((row) => tops.get(textIn(row, 'lease'))?._id === row._id);
    return new Map(kept.map((row) => [textIn(row, 'lease'), leaseOf(row, owner)]));
  }

  async function claim(
    name: string,
    top: Row | undefined,
    owner: string,
    expires: number,
  ): Promise<Lease | undefined> {
    const fence = top === undefined ? 1 : numberIn(top, 'fence') + 1;
    const row = { _id: `${name}#${fence}`, lease: name, fence, owner, expires_at: expires };
    if (!(await insertOnce(claims, row))) return undefined;
    // Only the highest claim counts; the previous one is kept, since its owner may still look for it.
    if (fence > 2) await claims.deleteMany({ lease: name, fence: { $lt: fence - 1 } });
    return { name, owner, fence };
  }

  function isHeldAt(row: Row, time: number, ttlMs = 0): boolean {
    const left = numberIn(row, 'expires_at') - time;
    return row.owner !== null && left > 0 && left <= Math.max(ttlMs, LONGEST_LEASE_MS);
  }

  return {
    async acquireAll(names, owner, ttlMs) {
      if (names.length === 0) return [];
      const [tops, time] = [await highestOf(names), await now()];
      const mine = [...tops.values()].filter((top) => top.owner === owner);
      const renewed = await renew(mine, owner, time + ttlMs);
      return Promise.all(
        names.map((name) => {
          const top = tops.get(name);
          if (top !== undefined && top.owner === owner) return renewed.get(name);
          if (top !== undefined && isHeldAt(top, time, ttlMs)) return undefined;
          return claim(name, top, owner, time + ttlMs);
        }),
      );
    },
    async release({ name, owner, fence }) {
      await claims.updateOne({ _id: `${name}#${fence}`, owner }, { $set: { owner: null, expires_at: 0 } });
    },
    async isHeld(name) {
      const [top, time] = [(await highestOf([name])).get(name), await now()];
      return top !== undefined && isHeldAt(top, time);
    },
    async fencesOf(names) {
      const tops = await highestOf(names);
      return new Map([...tops].map(([name, top]) => [name, numberIn(top, 'fence')]));
    },
  };
}
