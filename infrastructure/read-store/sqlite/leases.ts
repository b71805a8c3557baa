import { type Lease, LONGEST_LEASE_MS, type ReadLeases } from '../../../application/ports/read-leases.ts';
import { Fenced } from '../../../application/ports/read-store.ts';
import { numberOf, type SqliteConnection } from '../../sqlite/connection.ts';

/**
 * Leases on the machine's clock, which all processes with the file share. Grants a lease that is free, expired, or
 * already the owner's; an expiry that is implausibly late counts as expired. A change of owner raises the fence.
 */
const ACQUIRE = `
  INSERT INTO leases (name, owner, fence, expires_at) VALUES (:name, :owner, 1, CAST(:now AS REAL) + :ttl)
  ON CONFLICT (name) DO UPDATE SET
    fence = fence + (owner IS NOT excluded.owner), owner = excluded.owner, expires_at = excluded.expires_at
  WHERE owner IS NULL OR owner = excluded.owner OR expires_at <= CAST(:now AS REAL)
    OR expires_at > CAST(:now AS REAL) + max(:ttl, ${LONGEST_LEASE_MS / 1000})
  RETURNING fence`;

/** @param clock milliseconds since 1970 */
export function sqliteLeases(connection: SqliteConnection, clock: () => number): ReadLeases {
  const acquire = (name: string, owner: string, ttlMs: number): Lease | undefined => {
    const row = connection.prepare(ACQUIRE).get({ name, owner, ttl: ttlMs / 1000, now: clock() / 1000 });
    return row === undefined ? undefined : { name, owner, fence: numberOf(row, 'fence') };
  };
  return {
    acquireLease: (name, owner, ttlMs) => connection.write(() => acquire(name, owner, ttlMs)),
    acquireLeases: (names, owner, ttlMs) =>
      connection.write(() => names.map((name) => acquire(name, owner, ttlMs))),
    releaseLease: ({ name, owner, fence }) =>
      connection.write(() => {
        connection
          .prepare(
            'UPDATE leases SET owner = NULL, expires_at = 0 WHERE name = ? AND owner = ? AND fence = ?',
          )
          .run(name, owner, fence);
      }),
    isLeaseHeld: (name) =>
      connection.read(
        () =>
          connection
            .prepare(`SELECT 1 FROM leases WHERE name = :name AND owner IS NOT NULL AND expires_at > CAST(:now AS REAL)
               AND expires_at <= CAST(:now AS REAL) + ${LONGEST_LEASE_MS / 1000}`)
            .get({ name, now: clock() / 1000 }) !== undefined,
      ),
  };
}

/** Must run in the transaction that it protects. @throws {Fenced} */
export function checkFence(connection: SqliteConnection, lease: string, fence: number): void {
  const row = connection.prepare('SELECT fence FROM leases WHERE name = ?').get(lease);
  const current = row === undefined ? undefined : numberOf(row, 'fence');
  if (current !== fence) throw new Fenced(`${lease} is at fence ${current ?? 'none'}, not ${fence}`);
}
