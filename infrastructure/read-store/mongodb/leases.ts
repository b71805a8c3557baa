import type { Db, Document } from 'mongodb';
import { type Lease, LONGEST_LEASE_MS } from '../../../application/ports/read-leases.ts';
import { isDuplicateKey, isRefusal, numberIn, type Row, rowsById } from '../../mongodb/calls.ts';

/** Leases of one database. Operations are safe to repeat. */
export interface Leases {
  /** Takes or renews each lease independently; undefined for leases that other owners hold. */
  acquireAll(names: readonly string[], owner: string, ttlMs: number): Promise<(Lease | undefined)[]>;
  release(lease: Lease): Promise<void>;
  isHeld(name: string): Promise<boolean>;
  /** The fences of the last holders, by name. Omits leases that were never held. */
  fencesOf(names: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

/**
 * Whether the server supports update pipelines with its clock (MongoDB 4.2 or newer). The probe matches no document, so
 * it changes nothing.
 */
export async function knowsPipelines(db: Db): Promise<boolean> {
  try {
    await db.collection<Row>('meta_leases').updateOne({ _id: '' }, [{ $set: { probed_at: '$$NOW' } }]);
    return true;
  } catch (error) {
    // The server refused the syntax. The caller handles an unavailable server.
    if (isRefusal(error)) return false;
    throw error;
  }
}

/**
 * One document per lease, changed by one atomic update with the server's clock. The row outlives the lease, since its
 * fence must never restart.
 */
export function pipelineLeases(db: Db): Leases {
  const leases = db.collection<Row>('meta_leases');
  const acquire = async (name: string, owner: string, ttlMs: number): Promise<Lease | undefined> => {
    const row = await leases
      .findOneAndUpdate({ _id: name }, takeOrRenew(owner, ttlMs), { upsert: true, returnDocument: 'after' })
      .catch((error: unknown) => {
        // Another process inserted the lease first.
        if (isDuplicateKey(error)) return null;
        throw error;
      });
    if (row === null || row.owner !== owner) return undefined;
    return { name, owner, fence: numberIn(row, 'fence') };
  };
  return {
    acquireAll: (names, owner, ttlMs) => Promise.all(names.map((name) => acquire(name, owner, ttlMs))),
    async release({ name, owner, fence }) {
      await leases.updateOne({ _id: name, owner, fence }, { $set: { owner: null, expires_at: new Date(0) } });
    },
    async isHeld(name) {
      const isUnexpired = {
        $expr: { $and: [{ $gt: ['$expires_at', '$$NOW'] }, { $not: [hasImplausibleExpiry(0)] }] },
      };
      return (await leases.findOne({ _id: name, owner: { $ne: null }, ...isUnexpired })) !== null;
    },
    async fencesOf(names) {
      const rows = await rowsById(leases, names);
      return new Map([...rows].map(([name, row]) => [name, numberIn(row, 'fence')]));
    },
  };
}

const hasImplausibleExpiry = (ttlMs: number): Document => ({
  $gt: ['$expires_at', { $add: ['$$NOW', Math.max(ttlMs, LONGEST_LEASE_MS)] }],
});

/** Literals are wrapped, so that an owner's name is never read as an expression. */
function takeOrRenew(owner: string, ttlMs: number): Document[] {
  const me = { $literal: owner };
  const holder = { $ifNull: ['$owner', null] };
  const isOwn = { $eq: [holder, me] };
  const isExpired = { $lte: [{ $ifNull: ['$expires_at', new Date(0)] }, '$$NOW'] };
  const isAcquired = { $or: [isOwn, isExpired, hasImplausibleExpiry(ttlMs), { $eq: [holder, null] }] };
  // All expressions of one stage see the document as it was before the stage.
  return [
    {
      $set: {
        owner: { $cond: [isAcquired, me, '$owner'] },
        fence: {
          $add: [{ $ifNull: ['$fence', 0] }, { $cond: [{ $and: [isAcquired, { $not: [isOwn] }] }, 1, 0] }],
        },
        expires_at: { $cond: [isAcquired, { $add: ['$$NOW', ttlMs] }, '$expires_at'] },
      },
    },
  ];
}
