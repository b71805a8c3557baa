import { createHash } from 'node:crypto';

/** Lower-case hex SHA-256 of the distinct ids, sorted by code unit, joined with `,` (decisions, section 4). */
export const dmKeyOf = (userIds: readonly string[]): string =>
  createHash('sha256')
    .update([...new Set(userIds)].sort().join(','))
    .digest('hex');
