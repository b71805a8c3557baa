import { Tile, Time, useRead } from '../../kit/index.ts';

/** Tiles for admins: bulk sessions under way, and the signed head. */
export const AdminTiles = () => (
  <>
    <BulkSessions />
    <SignedHead />
  </>
);

const BulkSessions = () => {
  const sessions = useRead(
    ['bulk', 'newest'],
    (client, signal) =>
      client.get('/api/v1/tenant/bulk-ops/sessions', { params: { query: { limit: 50 } }, signal }),
    { every: 10_000 },
  );
  const committing = sessions.data?.filter(({ status }) => status === 'committing');
  const rows = committing?.reduce(
    (sum, { progress }) => sum + (progress === undefined ? 0 : progress.total - progress.processed),
    0,
  );
  return (
    <Tile
      label="Bulk sessions under way"
      value={committing?.length.toLocaleString()}
      error={sessions.error}
      detail={rows === undefined ? undefined : `${rows.toLocaleString()} rows to go`}
      to="/bulk"
    />
  );
};

const SignedHead = () => {
  const proof = useRead(
    ['audit', 'proof'],
    (client, signal) => client.get('/api/v1/tenant/audit/proof', { signal }),
    { every: 60_000 },
  );
  return (
    <Tile
      label="Log signed"
      value={proof.data === undefined ? undefined : <Time at={proof.data.signed_at} relative />}
      error={proof.error}
      detail={proof.data === undefined ? undefined : <code>{proof.data.root.slice(0, 16)}…</code>}
      to="/events/verification"
    />
  );
};
