import { EventCodec } from '../../application/core/events/event-codec.ts';
import { compareReadModel } from '../../application/operations/read-model-comparison.ts';
import { leaseNameOf } from '../../application/ports/read-store.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { projections } from '../../projections/all.ts';
import { chainFaults } from '../support/chain.ts';
import { silentMetrics } from '../support/fakes.ts';
import { openMemoryReadStore } from '../support/memory-read-store/store.ts';
import type { Report } from './areas/area.ts';
import { checkBulkRows } from './bulk-check.ts';
import type { Hosts } from './hosts.ts';
import { type Fact, readLog } from './log.ts';
import type { Workload } from './workload.ts';
import type { World } from './world.ts';

/** A promise of the product that does not hold. */
export interface Fault {
  readonly oracle: string;
  readonly text: string;
}

/**
 * The log is quiet after this time (ms) without an append. The time exceeds the delay with which growth reaches a
 * node. It is longer while deliveries wait for their next attempt, and while an invoice is being issued. A call of the
 * billing system takes up to 10 s, and the next call follows after up to 60 s.
 */
const QUIET_MS = 9_000;
const QUIET_WITH_DELIVERIES_MS = 15_000;
const QUIET_WITH_INVOICES_MS = 80_000;

/** Waits until the work in the background is done. */
const settle = async (world: World): Promise<Fault[]> => {
  let end = await world.stores.events.end();
  let quietSince = world.time.now;
  const began = world.time.now;
  const isQuiet = async (): Promise<boolean> => {
    const ms = world.time.now - quietSince;
    if (ms < QUIET_MS) return false;
    if (ms < QUIET_WITH_DELIVERIES_MS && (await hasOpenDeliveries(world))) return false;
    return ms >= QUIET_WITH_INVOICES_MS || !(await hasOpenInvoices(world));
  };
  while (!(await isQuiet())) {
    await world.time.pause(500);
    const now = await world.stores.events.end();
    if (now !== end) quietSince = world.time.now;
    end = now;
    if (world.time.now - began > 20 * 60_000) return [{ oracle: 'settles', text: 'the log keeps growing' }];
  }
  return [];
};

const hasOpenDeliveries = async (world: World): Promise<boolean> =>
  (await countOf(world, 'DeliveryScheduled')) !==
  (await countOf(world, 'DeliverySucceeded', 'DeliveryDeadLettered'));

/** Also true for an invoice that was voided while it was being issued, which only lengthens the wait. */
const hasOpenInvoices = async (world: World): Promise<boolean> =>
  (await countOf(world, 'InvoiceIssueStarted')) !==
  (await countOf(world, 'InvoiceIssued', 'InvoiceIssueRefused'));

const countOf = async ({ stores: { events } }: World, ...types: readonly string[]): Promise<number> =>
  (await events.readAll({ filter: { types }, limit: ALL })).length;
const ALL = 2 ** 31;

/** Every promise that does not hold once faults have ended and work is done. */
export const findFaults = async (world: World, workload: Workload, hosts: Hosts): Promise<Fault[]> => {
  const faults = await settle(world);
  if ((await behindIn(world)).length > 0) {
    // A save of progress that its caller has given up may land after the next save, and name tenants that are no longer
    // behind. The next holder of the lease reads their events again.
    for (const node of world.nodes) {
      node.kill();
      await node.start();
    }
    faults.push(...(await settle(world)));
  }
  const log = await readLog(world);
  const report = (oracle: string) => (text: string) => void faults.push({ oracle, text });
  world.fences.faults.forEach(report('fences'));
  workload.faults.forEach(report('pages'));
  checkRequests(log, workload, report('requests'));
  checkChains(log, report('chain'));
  await checkKeptHashes(log, world, report('heads'));
  await checkSettled(world, report('settles'));
  checkDeliveries(log, hosts, report('deliveries'));
  checkBulkRows(log, report('bulk rows'));
  for (const area of workload.areas) await area.check(log, report(area.name));
  await checkReadModels(world, log, report('read models'));
  return faults;
};

/** Events that the writer of a reference appends first; without the referrer they have no effect (decision 11). */
const REGISTRATION = /^Reference(Registered|Released|Barred)$/;

/** Whether the events of a request have no effect: each attempt ({@link ATTEMPT}) that it started was abandoned. */
const isAbandoned = (events: readonly Fact[]): boolean => {
  const left = events.filter(({ type }) => !ATTEMPT.test(type) && type !== 'PostingRefused');
  const count = (end: string): number => events.filter(({ type }) => type.endsWith(end)).length;
  return left.length === 0 && count('Started') === count('Abandoned');
};
const ATTEMPT = /^(RecordDeletion|EntryPosting)(Started|Abandoned)$/;

/** An acknowledged request is in the log once, and a refused request is not in it. */
const checkRequests = (log: readonly Fact[], { requests }: Workload, report: Report): void => {
  const byRequest = Map.groupBy(log, ({ correlation }) => correlation);
  for (const { id, what, event, outcome, isRepeated, reply } of requests) {
    const events = (byRequest.get(id) ?? []).filter(({ type }) => !REGISTRATION.test(type));
    if (outcome === 'refused' && !isAbandoned(events)) {
      const types = events.map(({ type }) => type).join(', ');
      report(
        `${id} (${what}) was refused with ${reply?.status} ${JSON.stringify(reply?.body)}, but left ${types}`,
      );
    }
    if (event === undefined) continue;
    const times = events.filter(({ type }) => type === event).length;
    if (outcome === 'acknowledged' && (times === 0 || (times > 1 && !isRepeated)))
      report(`${id} (${what}) was acknowledged, and is in the log ${times} times`);
    if (times > 1 && !isRepeated) report(`${id} (${what}) is in the log ${times} times`);
  }
};

const checkChains = (log: readonly Fact[], report: Report): void => {
  for (const [stream, events] of Map.groupBy(log, (event) => event.stream)) {
    chainFaults(events).forEach(report);
    const times = events.map(({ at }) => at);
    if (times.some((at, index) => at < (times[index - 1] ?? ''))) report(`times of ${stream} go back`);
  }
};

/** The kept hash of each stream is that of its last event, up to the position that the keeper has reached. */
const checkKeptHashes = async (
  log: readonly Fact[],
  { stores: { heads } }: World,
  report: Report,
): Promise<void> => {
  const kept = new Map<string, { readonly revision: number; readonly hash: string }>();
  const position = await heads.read('', (part) => part.forEach((each) => void kept.set(each.stream, each)));
  const upTo = log.filter((event) => position !== undefined && event.position <= position);
  for (const [stream, events] of Map.groupBy(upTo, (event) => event.stream)) {
    const [last, hashed] = [events.at(-1), kept.get(stream)];
    if (
      hashed === undefined ||
      hashed.revision !== last?.revision ||
      !last.metadata.includes(`"hash":"${hashed.hash}"`)
    )
      report(`${stream} ends at ${last?.revision}, its kept hash says ${JSON.stringify(hashed)}`);
  }
};

/** Leases of work that never ends, besides those of read models. */
const PERMANENT = /^(subscriber:|audit-sealer$|gauge-sampler$)/;

/** Tenants that are behind in a subscriber, by its stored progress. */
const behindIn = async ({ stores: { reads } }: World): Promise<string[]> => {
  const found: string[] = [];
  for (const name of (await reads.subscriberCheckpoints()).keys()) {
    const behind = (await reads.subscriberProgress(name))?.behind;
    if (behind !== undefined && behind.size > 0)
      found.push(`${[...behind.keys()].join(', ')} are behind in ${name}`);
  }
  return found;
};

/** No tenant is parked in a read model, none is behind in a subscriber, and each lease has a live holder. */
const checkSettled = async (world: World, report: Report): Promise<void> => {
  const { fences } = world;
  const { reads } = world.stores;
  // Leases of replaced generations, ended sessions and ended invoices need no holder.
  const kept = new Set<string>();
  for (const { name } of projections) {
    const { active, building } = await reads.activeGeneration(name);
    if (building !== undefined) report(`${name} is still built anew as ${building}`);
    if (active === undefined) continue;
    kept.add(leaseNameOf({ projection: name, tag: active }));
    const { parked } = await reads.state({ projection: name, tag: active });
    if (parked.length > 0) report(`${name} has parked ${parked.map(({ tenant }) => tenant).join(', ')}`);
  }
  for (const text of await behindIn(world)) report(text);
  for (const { name, node, at } of fences.ended)
    if (kept.has(name) || PERMANENT.test(name))
      report(`the lease ${name} was last renewed by ${node} at ${at} ms`);
};

/** Each delivery ends once and is sent with the same bytes each time; each announced event has one delivery. */
const checkDeliveries = (log: readonly Fact[], { received }: Hosts, report: Report): void => {
  const deliveries = log.filter(({ type }) => type === 'DeliveryScheduled');
  const ended = new Map<string, string[]>();
  for (const { type, stream } of log) {
    if (type === 'DeliverySucceeded' || type === 'DeliveryDeadLettered') {
      ended.set(stream, [...(ended.get(stream) ?? []), type]);
    }
  }
  for (const { stream } of deliveries) {
    const ends = ended.get(stream) ?? [];
    if (ends.length !== 1) report(`${stream} ended ${ends.length} times: ${ends.join(', ')}`);
  }
  for (const [id, calls] of Map.groupBy(received, ({ delivery }) => delivery)) {
    if (new Set(calls.map(({ body }) => body)).size !== 1)
      report(`delivery ${id} was sent with different bytes`);
  }
  const sources = log.filter(({ type }) =>
    /^(Record(Created|Updated|Deleted)|JobTransitioned|FormSubmitted)$/.test(type),
  );
  const scheduled = Map.groupBy(deliveries, ({ tenant }) => tenant);
  for (const [tenant, events] of Map.groupBy(sources, (event) => event.tenant)) {
    const count = scheduled.get(tenant)?.length ?? 0;
    if (count !== events.length)
      report(`${events.length} announced events of ${tenant}, but ${count} deliveries`);
  }
};

/** Every read model has folded the last event of its types, and equals a fold of the log. */
const checkReadModels = async (world: World, log: readonly Fact[], report: Report): Promise<void> => {
  const { core } = world.nodes.find(({ platform }) => platform !== undefined)?.platform ?? {};
  if (core === undefined) throw new Error('no node is up');
  const scratch = openMemoryReadStore();
  // Events are parsed once for all read models.
  const codec = new EventCodec(catalogue, core.keys);
  for (const projection of projections) {
    const compared = await compareReadModel(projection, {
      events: world.stores.events,
      live: world.stores.reads,
      scratch,
      codec,
      logger: core.logger,
      metrics: silentMetrics,
      clock: core.clock,
    });
    if (compared.position === undefined) report(`${projection.name} was never folded`);
    const last = log.findLast(({ type }) => projection.types.includes(type))?.position ?? '';
    if ((compared.position ?? '') < last)
      report(`${projection.name} stands at ${compared.position}, its last event is at ${last}`);
    for (const difference of compared.differences) report(JSON.stringify(difference));
  }
  await scratch.close();
};
