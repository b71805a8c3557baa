import { randomUUID } from 'node:crypto';
import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import { WriterGate } from '../../../application/core/commands/writer-gate.ts';
import { dataOf, type EventCodec, type LoggedEvent } from '../../../application/core/events/event-codec.ts';
import type { RecordFinder } from '../../../application/entities/deletion-marks.ts';
import { Deletions } from '../../../application/entities/deletions.ts';
import { recordDeleter } from '../../../application/entities/record-deleter.ts';
import { RecordLinks } from '../../../application/entities/record-links.ts';
import { Records } from '../../../application/entities/records.ts';
import { type FindBroken, Schemas } from '../../../application/entities/schemas.ts';
import type { EventStore, Position } from '../../../application/ports/event-store.ts';
import { keysPointingTo } from '../../../domain/entities/deletion.ts';
import {
  type RecordEvent,
  type RecordState,
  RecordUpdated,
  recordStream,
} from '../../../domain/entities/record.ts';
import { brokenBy } from '../../../domain/entities/tightenings.ts';
import { type RecordDoc, recordsProjection } from '../../../projections/entities/records.ts';
import { causeOf } from '../../support/book.ts';
import { type SharedStores, startNode } from '../../support/node.ts';

/** Nodes with all entity use cases on one event store, with a read model that folds only as far as required. */

export const TENANT = 'acme';

export const request = (): RequestContext => ({
  cause: causeOf(randomUUID()),
  priorAttempt: undefined,
  newId: randomUUID,
});

/** Folds the log into documents exactly up to a requested position. */
const lazyReadModel = (events: EventStore, codec: EventCodec) => {
  const documents = new Map<string, RecordDoc>();
  let folded: Position | undefined;
  const types = new Set(recordsProjection.types);
  const foldTo = async (to: Position | undefined): Promise<void> => {
    const log = await events.readAll({ ...(folded === undefined ? {} : { from: folded }), limit: 100_000 });
    for (const stored of log) {
      if (to === undefined || stored.position > to || (folded !== undefined && stored.position <= folded))
        continue;
      folded = stored.position;
      if (!types.has(stored.type)) continue;
      const event = codec.decode(stored);
      for (const touch of recordsProjection.fold(event)) {
        if (touch.collection !== 'records') continue;
        const after = touch.change(documents.get(touch.id) as never) as RecordDoc | undefined;
        if (after === undefined) documents.delete(touch.id);
        else documents.set(touch.id, after);
      }
    }
  };
  const those = async function* (wanted: (doc: RecordDoc) => boolean) {
    yield* [...documents.values()].filter(wanted);
  };
  const finder: RecordFinder = {
    readTo: async (_tenantId, position) => foldTo(position ?? (await events.end())),
    referrers: (_tenantId, id) => those(({ refs }) => refs.includes(id)),
    beingDeleted: (_tenantId, id) => those(({ deletion_id }) => deletion_id === id),
  };
  const findBroken: FindBroken = async (_tenantId, entityName, rules) => {
    await foldTo(await events.end());
    for (const { entity_name, values } of documents.values()) {
      const broken = entity_name === entityName ? brokenBy(rules, values) : undefined;
      if (broken !== undefined) return broken;
    }
    return undefined;
  };
  return { finder, findBroken };
};

/** How long (ms) to wait for another process that deletes; in the tests, most such processes have crashed. */
const WAIT_MS = 30;

export const startEntities = (
  shared: Partial<SharedStores> = {},
  wrap: (events: EventStore) => EventStore = (events) => events,
  /** The largest number of records that a survey reads; with 0, every deletion marks records without a survey. */
  surveyed = 0,
) => {
  const plain = startNode(shared);
  const node = startNode({ ...shared, events: wrap(plain.events), keyStore: plain.keyStore });
  const { streams, codec, ids, directory, clock } = node;
  const writers = new WriterGate();
  const { finder, findBroken } = lazyReadModel(plain.events, codec);
  const workflows = async () => undefined;
  const pause = async () => undefined;
  const schemas = new Schemas({ streams, gate: writers, workflows, findBroken, pause });
  const links = new RecordLinks({ streams, directory, ids });
  const answered = () => undefined;
  const waiting = { clock, waitMs: WAIT_MS };
  const deletions = new Deletions({ links, schemas, finder, answered, surveyed, ...waiting });
  const records = new Records({ streams, schemas, links, workflows, gate: writers });
  const deleter = recordDeleter({ deletions });

  /** Delivers each event of the log from index `from` on to the deleter once; returns the index after the last. */
  const deliver = async (from = 0): Promise<number> => {
    let next = from;
    for (;;) {
      const stored = (await plain.events.readAll({ limit: 100_000 })).slice(next);
      if (stored.length === 0) return next;
      for (const event of stored) {
        if (deleter.types.includes(event.type)) await deleter.handle(codec.decode(event) as LoggedEvent);
        next += 1;
      }
    }
  };

  return { ...node, shared: plain, schemas, links, deletions, records, writers, deliver, finder };
};
export type Entities = ReturnType<typeof startEntities>;

/** An entity with a field for each reference rule. */
export const defineNodes = (node: Entities, name = 'node') => {
  const field = (key: string, onDelete: 'cascade' | 'clear' | 'restrict') => ({
    key,
    label: key,
    type: 'reference' as const,
    required: false,
    reference: { entity_name: name, on_delete: onDelete },
  });
  const title = { key: 'n', label: 'n', type: 'integer' as const, required: false };
  return node.schemas.define(
    TENANT,
    {
      name,
      label: name,
      fields: [title, field('cascade', 'cascade'), field('clear', 'clear'), field('restrict', 'restrict')],
    },
    request(),
  );
};

/** All records, folded from the first event of the log. */
export const recordsIn = async (events: EventStore, codec: EventCodec) => {
  const found = new Map<string, { state: RecordState; changes: number; cleared: readonly string[] }>();
  for (const stored of await events.readAll({ limit: 100_000 })) {
    if (!stored.stream.startsWith(`${TENANT}.record-`)) continue;
    const id = stored.stream.slice(`${TENANT}.record-`.length);
    const before = found.get(id) ?? { state: recordStream.initial, changes: 0, cleared: [] };
    const event = codec.decode(stored);
    // The stream’s name determines its event types.
    const state = recordStream.evolve(before.state, event as unknown as RecordEvent, {
      at: event.at,
      revision: event.revision,
    });
    const counts = ['RecordCreated', 'RecordUpdated'].includes(event.type) ? 1 : 0;
    const updated = dataOf(RecordUpdated, event);
    const cleared = updated?.cleared_by === undefined ? [] : updated.changed;
    found.set(id, { state, changes: before.changes + counts, cleared: [...before.cleared, ...cleared] });
  }
  return found;
};

/** Violations of invariants at rest: unfinished deletions, references without a target, versions that miscount. */
export const flawsIn = async (node: Pick<Entities, 'codec' | 'shared'>): Promise<string[]> => {
  const found = await recordsIn(node.shared.events, node.codec);
  const flaws: string[] = [];
  for (const [id, { state, changes, cleared }] of found) {
    if (state.status === 'none') continue;
    // Fields are named after their rules.
    for (const key of cleared) if (key !== 'clear') flaws.push(`${id} was cleared of ${key}`);
    if (state.status === 'deleting') flaws.push(`${id} is half deleted`);
    if (state.version !== changes) flaws.push(`${id} is at ${state.version} after ${changes} changes`);
    if (state.status === 'deleted') continue;
    for (const target of new Set(Object.values(state.values))) {
      if (typeof target !== 'string' || keysPointingTo(state, target).length === 0) continue;
      const status = found.get(target)?.state.status ?? 'unknown';
      if (status !== 'live') flaws.push(`${id} points to ${target}, which is ${status}`);
    }
  }
  return flaws;
};
