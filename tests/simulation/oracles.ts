import { z } from 'zod';
import { EventCodec } from '../../application/core/events/event-codec.ts';
import { compareReadModel } from '../../application/operations/read-model-comparison.ts';
import type { StoredEvent } from '../../application/ports/event-store.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { projections } from '../../projections/all.ts';
import { chainFaults } from '../support/chain.ts';
import { silentMetrics } from '../support/fakes.ts';
import type { Receivers } from './receivers.ts';
import { idOf, type Tenant, type Workload } from './workload.ts';
import type { World } from './world.ts';

/** A promise of the product that does not hold. */
export interface Fault {
  readonly oracle: string;
  readonly text: string;
}

interface Fact extends StoredEvent {
  readonly correlation: string;
  /** RFC 3339. */
  readonly at: string;
  readonly tenant: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

const metadata = z.looseObject({ $correlationId: z.string().optional(), occurred_at: z.string() });
const PAGE = 2_000;
/** The log is quiet (ms) when nothing was appended for so long. */
const QUIET_MS = 15_000;

const readLog = async (world: World): Promise<Fact[]> => {
  const found: Fact[] = [];
  for (;;) {
    const from = found.at(-1)?.position;
    const page = await world.stores.events.readAll({ ...(from === undefined ? {} : { from }), limit: PAGE });
    for (const event of page) {
      const { $correlationId: correlation = '', occurred_at: at } = metadata.parse(
        JSON.parse(event.metadata),
      );
      const facts = z.record(z.string(), z.unknown()).parse(JSON.parse(event.data));
      found.push({ ...event, at, correlation, tenant: event.stream.split('.')[0] ?? '', facts });
    }
    if (page.length < PAGE) return found;
  }
};

/** Waits until the work in the background is done. */
const settle = async (world: World): Promise<Fault[]> => {
  let end = await world.stores.events.end();
  let quietSince = world.time.now;
  const began = world.time.now;
  while (world.time.now - quietSince < QUIET_MS) {
    await world.time.pause(500);
    const now = await world.stores.events.end();
    if (now !== end) quietSince = world.time.now;
    end = now;
    if (world.time.now - began > 20 * 60_000) return [{ oracle: 'settles', text: 'the log keeps growing' }];
  }
  return [];
};

/** Every promise that does not hold once faults have ended and work is done. */
export const findFaults = async (
  world: World,
  workload: Workload,
  receivers: Receivers,
): Promise<Fault[]> => {
  const faults = await settle(world);
  const log = await readLog(world);
  const report = (oracle: string) => (text: string) => void faults.push({ oracle, text });
  checkRequests(log, workload, report('requests'));
  checkChains(log, report('chain'));
  checkBooks(log, workload.tenants, report('books'));
  checkDeliveries(log, receivers, report('deliveries'));
  checkSockets(log, workload, report('sockets'));
  checkRules(log, workload.tenants, report('rules'));
  await checkSessions(workload, report('bulk'));
  await checkUnread(workload, report('unread'));
  await checkReadModels(world, report('read models'));
  return faults;
};

type Report = (text: string) => void;

/** An acknowledged request is in the log once, a refused one not at all. */
const checkRequests = (log: readonly Fact[], { requests }: Workload, report: Report): void => {
  const byRequest = Map.groupBy(log, ({ correlation }) => correlation);
  for (const { id, what, event, outcome, isRepeated, reply } of requests) {
    const events = byRequest.get(id) ?? [];
    if (outcome === 'refused' && events.length > 0) {
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

const isParticipant = (log: readonly Fact[], conversation: string, userId: string): boolean =>
  log.some(
    ({ type, stream, data }) =>
      type === 'ConversationStarted' && stream.endsWith(conversation) && data.includes(`"${userId}"`),
  );

/** A listener heard each envelope for it once, in the order of the log; at its end it was given time to hear the last. */
const checkSockets = (log: readonly Fact[], { listeners, tenants }: Workload, report: Report): void => {
  for (const { actor, heard, faults, from } of listeners) {
    faults.forEach((fault) => void report(`${actor.id}: ${fault}`));
    if (from === undefined) continue;
    const conversations = new Set(
      tenants
        .flatMap((tenant) => tenant.conversations)
        .filter((id) => isParticipant(log, id, actor.id))
        .map((id) => `${actor.tenantId}.conversation-${id}`),
    );
    const deleted = new Set(
      log
        .filter(({ type }) => type === 'MessageDeleted')
        .map(({ facts }) => idOf('message', String(facts.message_id))),
    );
    const expected = log.flatMap(({ tenant, type, stream, facts, position }) => {
      if (tenant !== actor.tenantId || position <= from) return [];
      if (type === 'MessageSent' && conversations.has(stream))
        return [idOf('message', String(facts.message_id))];
      if (type === 'NotificationRaised' && stream === `${tenant}.inbox-${actor.id}`)
        return [idOf('notification', String(facts.notification_id))];
      return [];
    });
    const twice = heard.filter((id, at) => heard.indexOf(id) !== at);
    if (twice.length > 0) report(`${actor.id} heard twice: ${twice.join(', ')}`);
    const known = new Set(heard);
    // The text of a deleted message is gone, so a replay leaves it out.
    const missed = expected.filter((id) => !known.has(id) && !deleted.has(id));
    if (missed.length > 0)
      report(
        `${actor.id} did not hear ${missed.length} of ${expected.length}: ${missed.slice(0, 3).join(', ')}`,
      );
    const own = new Set(expected);
    const foreign = heard.filter((id) => !own.has(id));
    if (foreign.length > 0) report(`${actor.id} heard what is not for it: ${foreign.slice(0, 3).join(', ')}`);
    const order = expected.filter((id) => known.has(id));
    if (order.join() !== heard.filter((id) => own.has(id)).join())
      report(`${actor.id} heard envelopes out of order`);
  }
};

/** A rule posts one entry for each event of its kind. */
const checkRules = (log: readonly Fact[], tenants: readonly Tenant[], report: Report): void => {
  for (const { id } of tenants) {
    const created = log.filter(({ tenant, type }) => tenant === id && type === 'RecordCreated').length;
    const posted = log.filter(
      ({ tenant, type, facts }) =>
        tenant === id && type === 'EntryPosted' && JSON.stringify(facts.source).includes('rule'),
    ).length;
    if (created !== posted)
      report(`${created} records of ${id} were created, and rules posted ${posted} entries`);
  }
};

const session = z.looseObject({
  status: z.string(),
  preview: z.looseObject({ total_resolved: z.number() }),
  result: z.looseObject({ succeeded: z.number(), skipped: z.number(), errored: z.number() }).optional(),
});

/** A committed session accounts for each of its rows; none is left in between. */
const checkSessions = async ({ tenants }: Workload, report: Report): Promise<void> => {
  for (const { people, sessions } of tenants) {
    for (const id of sessions) {
      const reply = await people[0]?.client.get(`/api/v1/tenant/bulk-ops/sessions/${id}`);
      const { status, preview, result } = session.parse(reply?.body);
      if (!['previewed', 'committed', 'cancelled'].includes(status)) report(`session ${id} is ${status}`);
      if (result === undefined) continue;
      const sum = result.succeeded + result.skipped + result.errored;
      if (sum !== preview.total_resolved)
        report(`session ${id} accounts for ${sum} of ${preview.total_resolved} rows`);
    }
  }
};

/** Numbers without a gap, and every posted entry balanced. */
const checkBooks = (log: readonly Fact[], tenants: readonly Tenant[], report: Report): void => {
  for (const { id } of tenants) {
    const posted = log.filter(
      ({ tenant, type }) => tenant === id && (type === 'EntryPosted' || type === 'EntryReversed'),
    );
    const numbers = posted.map(({ facts }) => Number(facts.number));
    numbers.forEach((number, at) => {
      if (number !== at + 1) report(`entry ${at + 1} of ${id} has the number ${number}`);
    });
    const ids = posted.map(({ facts }) => String(facts.entry_id));
    if (new Set(ids).size !== ids.length) report(`an entry of ${id} was posted twice`);
  }
};

/** Each delivery ends, is sent with the same bytes each time, and is recorded as delivered when it was. */
const checkDeliveries = (log: readonly Fact[], { received }: Receivers, report: Report): void => {
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
  const sources = log.filter(({ type }) => /^Record(Created|Updated|Deleted)$/.test(type));
  const scheduled = Map.groupBy(deliveries, ({ tenant }) => tenant);
  for (const [tenant, events] of Map.groupBy(sources, (event) => event.tenant)) {
    const count = scheduled.get(tenant)?.length ?? 0;
    if (count !== events.length)
      report(`${events.length} events of records of ${tenant}, but ${count} deliveries`);
  }
};

const conversationList = z.array(
  z.looseObject({
    id: z.string(),
    unread_count: z.number(),
    participants: z.array(z.looseObject({ user_id: z.string(), last_read_at: z.string().nullable() })),
  }),
);
const messageList = z.array(
  z.looseObject({
    id: z.string(),
    sender_user_id: z.string(),
    created_at: z.string(),
    deleted_at: z.string().nullable(),
  }),
);

/** Unread counts are those of the specification's definition. */
const checkUnread = async ({ tenants }: Workload, report: Report): Promise<void> => {
  for (const { people } of tenants) {
    for (const { id, client } of people) {
      const list = conversationList.parse(
        (await client.get('/api/v1/tenant/messaging/conversations?limit=200')).body,
      );
      for (const conversation of list) {
        const all: z.output<typeof messageList> = [];
        let path: string | undefined =
          `/api/v1/tenant/messaging/conversations/${conversation.id}/messages?limit=200`;
        while (path !== undefined) {
          const reply = await client.get(path);
          all.push(...messageList.parse(reply.body));
          path = /^<([^>]+)>/.exec(String(reply.headers.link ?? ''))?.[1];
        }
        const readAt = conversation.participants.find(({ user_id }) => user_id === id)?.last_read_at ?? null;
        const unread = all.filter(
          (one) =>
            one.sender_user_id !== id &&
            one.deleted_at === null &&
            (readAt === null || one.created_at > readAt),
        ).length;
        if (unread !== conversation.unread_count) {
          report(
            `${id} has ${conversation.unread_count} unread messages in ${conversation.id}, by definition ${unread}`,
          );
        }
      }
    }
  }
};

/** Every read model equals a fold of the log. */
const checkReadModels = async (world: World, report: Report): Promise<void> => {
  const { core } = world.nodes.find(({ platform }) => platform !== undefined)?.platform ?? {};
  if (core === undefined) throw new Error('no node is up');
  for (const projection of projections) {
    const scratch = await openSqliteReadStore({ path: ':memory:' });
    const compared = await compareReadModel(projection, {
      events: world.stores.events,
      live: world.stores.reads,
      scratch,
      codec: new EventCodec(catalogue, core.keys),
      logger: core.logger,
      metrics: silentMetrics,
      clock: core.clock,
    });
    await scratch.close();
    if (compared.position === undefined) report(`${projection.name} was never folded`);
    for (const difference of compared.differences) report(JSON.stringify(difference));
  }
};
