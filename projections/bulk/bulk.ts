import { type BulkState, bulkStream, CHUNK, processedOf } from '../../domain/bulk/session.ts';
import type { BulkEvent, RowError, Sample } from '../../domain/bulk/session-events.ts';
import { collection, platformCollection } from '../../domain/core/collection.ts';
import {
  type DocumentReader,
  iso,
  type PageEnd,
  type PageRequest,
  type ProjectedEvent,
  projection,
  type Touch,
  touch,
} from '../../domain/core/projection.ts';

/** Bulk operation sessions (specification, Bulk operation session). */

interface BulkSessionDoc {
  readonly id: string;
  /** False until the preview is complete. */
  readonly listed: boolean;
  /** Time of the complete preview. */
  readonly created_at: string;
  /** The state as folded from the stream. */
  readonly session: BulkState;
}

/** The displayed parts of a preview, which the stream's state does not keep. */
export interface BulkPreviewDoc {
  readonly id: string;
  readonly attempt: string;
  /** Of the first {@link SHOWN} rows. */
  readonly ids: readonly string[];
  /** At most {@link SHOWN} errors. */
  readonly errors: readonly RowError[];
  readonly sample_affected: readonly Sample[];
}

/** A session that is being committed, stored under the platform so that workers find the sessions of all tenants. */
interface CommittingDoc {
  readonly tenant_id: string;
  readonly session_id: string;
  readonly since: string;
}

const committing = platformCollection<CommittingDoc>('bulk_running');

/** Maximum number of errors, and of ids, displayed per session (decisions, section 5). */
const SHOWN = CHUNK;

type Folded = BulkEvent & Pick<ProjectedEvent, 'tenantId' | 'at' | 'revision'>;

const session = (event: Folded): Touch =>
  touch<BulkSessionDoc>('bulk_sessions', event.data.session_id, (doc) => {
    const folded = bulkStream.evolve(doc?.session ?? bulkStream.initial, event, event);
    const isListed = folded.status !== 'none' && folded.status !== 'previewing';
    return {
      id: event.data.session_id,
      listed: isListed,
      created_at: iso(isListed ? folded.createdAt : event.at),
      session: folded,
    };
  });

const details = (
  event: Folded & { readonly data: { readonly attempt: string } },
  change: (doc: BulkPreviewDoc) => Partial<BulkPreviewDoc>,
): Touch => {
  const { session_id: id, attempt } = event.data;
  return touch<BulkPreviewDoc>('bulk_previews', id, (doc) => {
    const of = doc?.attempt === attempt ? doc : { id, attempt, ids: [], errors: [], sample_affected: [] };
    return { ...of, ...change(of) };
  });
};

const ended = (event: Folded): readonly Touch[] => [session(event), markCommitting(event, () => undefined)];

const markCommitting = ({ data, tenantId }: Folded, change: () => CommittingDoc | undefined): Touch =>
  committing.touch(`${tenantId}/${data.session_id}`, change);

export const bulkProjection = projection<BulkEvent>({
  name: 'bulk',
  version: 1,
  collections: [
    { name: 'bulk_sessions', indexes: [{ name: 'by_created_at', fields: ['listed', 'created_at'] }] },
    { name: 'bulk_previews', indexes: [] },
    { name: 'bulk_running', indexes: [{ name: 'by_since', fields: ['since'] }] },
  ],
  on: {
    BulkPreviewStarted: (event) => [session(event), details(event, () => ({}))],
    BulkRowsResolved: (event) => [
      session(event),
      ...(event.data.first < SHOWN
        ? [
            details(event, ({ ids }) => ({
              ids: [...ids, ...event.data.rows.map(({ record_id }) => record_id)].slice(0, SHOWN),
            })),
          ]
        : []),
    ],
    BulkErrorsPreviewed: (event) => [
      details(event, ({ errors }) => ({ errors: [...errors, ...event.data.errors].slice(0, SHOWN) })),
    ],
    BulkPreviewed: (event) => [
      session(event),
      details(event, () => ({ sample_affected: event.data.sample_affected })),
    ],
    BulkCancelled: (event) => [session(event)],
    BulkCommitStarted: (event) => [
      session(event),
      markCommitting(event, () => ({
        tenant_id: event.tenantId,
        session_id: event.data.session_id,
        since: iso(event.at),
      })),
    ],
    BulkRunStarted: (event) => [session(event)],
    BulkRowsProcessed: (event) => [session(event)],
    BulkCommitted: ended,
    BulkCommitErrored: ended,
  },
});

// Queries

const sessions = collection<BulkSessionDoc>('bulk_sessions');
const listed = sessions.listOf('by_created_at', 'desc');
const committingBySince = committing.list('by_since', 'asc');

/** Newest first. */
export const bulkSessionsOf = (reader: DocumentReader, tenantId: string, page: PageRequest) =>
  listed(reader, tenantId, true, page);

export const bulkPreviewOf = collection<BulkPreviewDoc>('bulk_previews').get;

const PAGE = 1000;

/** Yields pages of all tenants' sessions in commit, in the order in which their commits started. */
export const committingSessions = async function* (reader: DocumentReader) {
  let after: PageEnd | undefined;
  do {
    const { docs, next } = await committingBySince(reader, { limit: PAGE, after });
    yield docs.map(({ tenant_id: tenantId, session_id: sessionId }) => ({ tenantId, sessionId }));
    after = next;
  } while (after !== undefined);
};

/** Maximum number of sessions that {@link queuedRows} reads. */
const MOST_SESSIONS = 200;

/** Number of unprocessed rows in the first 200 sessions in commit, of all tenants. */
export const queuedRows = async (reader: DocumentReader): Promise<number> => {
  const { docs } = await committingBySince(reader, { limit: MOST_SESSIONS, after: undefined });
  let rows = 0;
  for (const { tenant_id, session_id } of docs) {
    const doc = await sessions.get(reader, tenant_id, session_id);
    if (doc === undefined || !('counts' in doc.session)) continue;
    rows += doc.session.counts.total_resolved - processedOf(doc.session.done);
  }
  return rows;
};
