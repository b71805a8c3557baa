import type { Db } from 'mongodb';
import { z } from 'zod';
import type { Lease, ReadLeases } from '../../../application/ports/read-leases.ts';
import {
  type ActiveGeneration,
  type CheckpointWrite,
  Fenced,
  type GenerationId,
  type GenerationState,
  leaseNameOf,
  leaseNameOfSubscriber,
  type ReadProgress,
} from '../../../application/ports/read-store.ts';
import {
  call,
  isDuplicateKey,
  optionalTextIn,
  type Row,
  type Rows,
  rowsById,
  textIn,
} from '../../mongodb/calls.ts';
import { behindOf, optionalPosition, parkedRow, positionOf, textOfBehind } from '../stored-values.ts';
import { type GenerationProgress, type Generations, generationId } from './generations.ts';
import type { Leases } from './leases.ts';
import { endTransactions } from './transactions.ts';

/** Checkpoints of projections and subscribers, protected by fences. */
export function mongoProgress(db: Db, generations: Generations, leases: Leases): ReadProgress & ReadLeases {
  const parked = db.collection<Row>('meta_parked');
  const active = db.collection<Row>('meta_active_generations');
  const subscribers = db.collection<Row>('meta_subscribers');
  const raised = new Map<string, number>();
  const parkedId = (generation: GenerationId, tenant: string): string =>
    `${generationId(generation)}/${tenant}`;

  /**
   * Writes the new fence into the rows that the lease protects. A late write of the old holder is then refused,
   * even one that has checked its fence already.
   */
  async function raiseBarriers(name: string, fence: number): Promise<void> {
    // The first holder has no predecessor.
    if (fence === 1 || raised.get(name) === fence) return;
    const session = await generations.sessionBefore(name, fence);
    if (session !== undefined) await endTransactions(db, session);
    for (const barrier of [db.collection<Row>('meta_generations'), parked, subscribers]) {
      await barrier.updateMany({ lease: name, fence: { $lt: fence } }, { $set: { fence } });
    }
    raised.set(name, fence);
  }

  async function acquire(
    names: readonly string[],
    owner: string,
    ttlMs: number,
  ): Promise<(Lease | undefined)[]> {
    const taken = await leases.acquireAll(names, owner, ttlMs);
    await Promise.all(taken.map((lease) => lease && raiseBarriers(lease.name, lease.fence)));
    return taken;
  }

  /** Reads progress and parked tenants of all generations together. */
  async function statesOf(all: readonly GenerationId[]): Promise<GenerationState[]> {
    const ids = all.map(generationId);
    const ofAll = parked.find({ generation: { $in: ids } }).sort({ tenant: 1 });
    const [progresses, rows] = await Promise.all([generations.progressOf(all), ofAll.toArray()]);
    const rowsById = Map.groupBy(rows, (row) => textIn(row, 'generation'));
    return progresses.map((progress, at) => stateIn(progress, rowsById.get(ids[at] ?? '') ?? []));
  }

  /**
   * Saves all checkpoints in one command if all leases are still held. Otherwise, or if the store refuses a checkpoint,
   * saves each alone to find out which ones are refused; a checkpoint may be saved twice.
   */
  async function saveAll(all: readonly CheckpointWrite[]): Promise<(Fenced | undefined)[]> {
    if (all.length === 0) return [];
    const fences = await leases.fencesOf(all.map(({ generation }) => leaseNameOf(generation)));
    const isHeld = ({ generation, fence }: CheckpointWrite): boolean =>
      fences.get(leaseNameOf(generation)) === fence;
    if (all.every(isHeld) && (await generations.advanceAll(all))) return all.map(() => undefined);
    return Promise.all(
      all.map(async ({ generation, fence, checkpoint }) => {
        try {
          await checkFence(leases, leaseNameOf(generation), fence);
          await generations.advance(generation, fence, checkpoint);
          return undefined;
        } catch (error) {
          if (error instanceof Fenced) return error;
          throw error;
        }
      }),
    );
  }

  return {
    state: (generation) => call(async () => (await statesOf([generation]))[0] ?? stateIn(undefined, [])),
    states: (all) => call(() => statesOf(all)),
    saveCheckpoints: (all) => call(() => saveAll(all)),
    park: (generation, fence, tenant) =>
      call(async () => {
        const lease = leaseNameOf(generation);
        await checkFence(leases, lease, fence);
        const _id = parkedId(generation, tenant.tenant);
        await put(parked, { _id, lease, generation: generationId(generation), ...tenant, fence });
      }),
    unpark: (generation, fence, tenant) =>
      call(async () => {
        await checkFence(leases, leaseNameOf(generation), fence);
        await parked.deleteOne({ _id: parkedId(generation, tenant), fence: { $lte: fence } });
      }),
    activeGeneration: (projection) => call(async () => activeIn(await active.findOne({ _id: projection }))),
    activeGenerations: (names) =>
      call(async () => {
        const byId = await rowsById(active, names);
        return names.map((name) => activeIn(byId.get(name) ?? null));
      }),
    setActiveGeneration: (projection, state) =>
      call(async () => {
        const row = { active: state.active ?? null, building: state.building ?? null };
        await active.replaceOne({ _id: projection }, row, { upsert: true });
      }),
    subscriberProgress: (name) =>
      call(async () => {
        const row = await subscribers.findOne({ _id: name });
        const position = optionalPosition(optionalTextIn(row, 'position'));
        return position && { position, behind: behindOf(optionalTextIn(row, 'behind')) };
      }),
    subscriberCheckpoints: () =>
      call(async () => {
        const rows = await subscribers.find().toArray();
        return new Map(rows.map((row) => [row._id, positionOf(textIn(row, 'position'))]));
      }),
    saveSubscriberProgress: (name, fence, { position, behind }) =>
      call(async () => {
        const lease = leaseNameOfSubscriber(name);
        await checkFence(leases, lease, fence);
        const row = { _id: name, lease, fence, position, behind: textOfBehind(behind) };
        await put(subscribers, row, { position: { $lte: position } });
      }),
    isLeaseHeld: (name) => call(() => leases.isHeld(name)),
    acquireLease: (name, owner, ttlMs) => call(async () => (await acquire([name], owner, ttlMs))[0]),
    acquireLeases: (names, owner, ttlMs) => call(() => acquire(names, owner, ttlMs)),
    releaseLease: (lease) => call(() => leases.release(lease)),
  };
}

const stateIn = (progress: GenerationProgress | undefined, rows: readonly Row[]): GenerationState => {
  const checkpoint = optionalPosition(progress?.checkpoint || undefined);
  return {
    checkpoint,
    parked: z.array(parkedRow).parse(rows),
    ...(progress?.isOutdated === true && { isOutdated: true }),
  };
};

const activeIn = (row: Row | null): ActiveGeneration => ({
  active: optionalTextIn(row, 'active'),
  building: optionalTextIn(row, 'building'),
});

/** @throws {Fenced} */
export async function checkFence(leases: Leases, lease: string, fence: number): Promise<void> {
  const current = (await leases.fencesOf([lease])).get(lease);
  if (current !== fence) throw new Fenced(`${lease} is at fence ${current ?? 'none'}, not ${fence}`);
}

/** Writes a row unless the stored one has a higher fence or fails `condition`. @throws {Fenced} */
async function put(
  rows: Rows,
  row: Row & { fence: number },
  condition: Record<string, unknown> = {},
): Promise<void> {
  const { _id, ...fields } = row;
  try {
    await rows.replaceOne({ _id, fence: { $lte: row.fence }, ...condition }, fields, { upsert: true });
  } catch (error) {
    // The row exists, but it does not fulfil the condition.
    if (isDuplicateKey(error)) throw new Fenced(`${_id} was written by a later holder`);
    throw error;
  }
}
