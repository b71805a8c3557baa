import { randomUUID } from 'node:crypto';
import type { Referrers } from '../../../application/bulk/cascades.ts';
import { BulkPreviews } from '../../../application/bulk/preview.ts';
import type { CommitRun } from '../../../application/bulk/row.ts';
import { operationOf } from '../../../application/bulk/row-loop.ts';
import { BulkRunner, type RunnerOptions } from '../../../application/bulk/runner.ts';
import { BackgroundScheduler } from '../../../application/core/concurrency/background-scheduler.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import type { ReadStore } from '../../../application/ports/read-store.ts';
import { Jobs } from '../../../application/workflow/jobs.ts';
import { Workflows } from '../../../application/workflow/workflows.ts';
import { bulkStream, type SessionState, sessionIn } from '../../../domain/bulk/session.ts';
import { startCommit } from '../../../domain/bulk/session-decisions.ts';
import type { OpParams } from '../../../domain/bulk/session-events.ts';
import type { Filter } from '../../../domain/expressions/filter.ts';
import { silentMetrics } from '../../support/fakes.ts';
import { type Entities, request, startEntities, TENANT } from '../entities/support.ts';

/** Leases in memory; `expire` ends them all, as after a crash of their holders. */
export const memoryLeases = (): Pick<ReadStore, 'acquireLease' | 'releaseLease'> & { expire(): void } => {
  const held = new Map<string, { owner: string; fence: number }>();
  let fence = 0;
  return {
    acquireLease: async (name, owner) => {
      const present = held.get(name);
      if (present !== undefined && present.owner !== owner) return undefined;
      if (present === undefined) {
        fence += 1;
        held.set(name, { owner, fence });
      }
      return { name, owner, fence: held.get(name)?.fence ?? fence };
    },
    releaseLease: async ({ name, owner }) => {
      if (held.get(name)?.owner === owner) held.delete(name);
    },
    expire: () => held.clear(),
  };
};

export type Leases = ReturnType<typeof memoryLeases>;

/** A node that previews and commits. */
export const startBulk = (
  shared: Parameters<typeof startEntities>[0],
  leases: Leases,
  options: { wrap?: (events: EventStore) => EventStore } & Partial<RunnerOptions> = {},
) => {
  const { wrap, ...more } = options;
  const node = startEntities(shared, wrap);
  const { commands, streams, codec, ids, clock, records, deletions, schemas } = node;
  const workflows = new Workflows({
    streams,

    events: node.events,
    codec,
    entitiesUsing: async () => [],
  });
  const jobs = new Jobs({ streams, workflows, clock });
  const referrers: Referrers = {
    canPointTo: async () => true,
    of: async function* (tenantId, id) {
      await node.finder.readTo(tenantId, await node.shared.events.end());
      yield* node.finder.referrers(tenantId, id);
    },
  };
  const rowDeps = { streams, schemas, writers: node.writers, records, deletions, jobs, ids };
  const runner = new BulkRunner({
    ...rowDeps,
    events: node.events,
    codec,
    leases,
    referrers,
    foreground: { requestCount: 0, longestWait: () => 0, reachesWithin: async () => true },
    scheduler: new BackgroundScheduler(),
    clock,
    logger: node.logger,
    metrics: silentMetrics,
    owner: randomUUID(),
    ...{ leaseMs: 60_000, outOfReachMs: 60_000, width: 4, pauseMs: 1, ...more },
  });
  const previews = new BulkPreviews({ streams, schemas, records, jobs, referrers, ids });

  const session = async (id: string): Promise<SessionState> => {
    const { state } = await commands.execute({
      tenantId: TENANT,
      type: bulkStream,
      id,
      cause: request().cause,
      decide: () => [],
    });
    return sessionIn(state);
  };

  /**
   * Previews a session and starts its commit; returns its id.
   * @param between runs after the preview and before the commit
   */
  const begin = async (
    rowIds: readonly string[],
    opParams: OpParams,
    filter?: Filter,
    between: () => Promise<unknown> = async () => undefined,
  ): Promise<string> => {
    const id = randomUUID();
    const begun = {
      id,
      entityName: 'node',
      opParams,
      selection:
        filter === undefined
          ? ({ kind: 'ids' } as const)
          : ({ kind: 'filter', filter_expr: 'x', filter: JSON.parse(JSON.stringify(filter)) } as const),
      createdBy: 'ann',
    };
    await previews.make(TENANT, begun, rowIds, request().cause);
    await between();
    await commands.execute({
      tenantId: TENANT,
      type: bulkStream,
      id,
      cause: request().cause,
      decide: (state) => startCommit(state, { committedBy: 'ann', countAtCommit: undefined }),
    });
    return id;
  };

  const apply = (run: CommitRun, ids: readonly string[], mayBeDone: boolean) =>
    operationOf(rowDeps, run).apply(ids, mayBeDone);

  return { ...node, apply, runner, previews, begin, session };
};
export type BulkNode = ReturnType<typeof startBulk>;

export const create = async (node: Entities, values: Record<string, unknown> = {}): Promise<string> =>
  (await node.records.create(TENANT, 'node', values, request())).record.id;

export const EDIT: OpParams = { kind: 'edit', fields: [{ field_key: 'n', new_value: 5 }] };
export const DELETE: OpParams = { kind: 'delete' };
