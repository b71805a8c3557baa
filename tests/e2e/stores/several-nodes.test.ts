import { expect } from 'chai';
import { z } from 'zod';
import { startEventStoreDb, type TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { startOwnMongo } from '../../support/mongodb-server.ts';
import { cleanUp, eventually, newDataFolder } from '../../support/server.ts';
import { liveMessage } from '../../support/shapes.ts';
import { allMessages, listed, unreadByDefinition } from '../../support/unread-model.ts';
import { closeReceivers, type Receiver, startReceiver } from '../../support/webhook-receiver.ts';
import { BASE, type Member, startWorld, type TestTenant, talk, type World } from '../../support/world.ts';
import { ACCOUNTS, CHART, ENTRIES, entry, move, REPORTS, trialBalance } from '../ledger/support.ts';
import { OPEN, plainEntity, subscribe } from '../webhooks/support.ts';
import { ENTITIES } from '../workflow/support.ts';
import { insist, Node, ResumingSocket } from './nodes.ts';

const SETTLED_MS = 180_000;
const FROZEN_MS = 3000;
/** Pause between two writes of one writer: the test's MongoDB is slow, and reads must still be in time. */
const PACE_MS = 500;
const record = z.looseObject({ id: z.uuid() });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const mongo = await startOwnMongo();

describe('Two api nodes and two workers on EventStoreDB and MongoDB', () => {
  if ('unavailable' in mongo) {
    it(`SKIPPED, several nodes were not tested: ${mongo.unavailable}`);
    return;
  }
  let events: TestEventStoreDb;
  let apis: Node[];
  let workers: Node[];
  let world: World;
  let tenant: TestTenant;
  let people: Member[];
  let conversationId: string;
  let receiver: Receiver;
  const sockets: ResumingSocket[] = [];

  /** Ids of acknowledged writes. */
  const done = { messages: new Set<string>(), records: new Set<string>(), entries: new Set<string>() };
  const failures: unknown[] = [];
  let isLoaded = true;

  before(async function () {
    this.timeout(120_000);
    events = await startEventStoreDb({ path: `${await newDataFolder()}/events.log` });
    const stores = { EVENTSTORE_URL: events.url, MONGODB_URL: `${mongo.url}/several_nodes`, ...OPEN };
    apis = [new Node({ ...stores, ROLE: 'api' }), new Node({ ...stores, ROLE: 'api' })];
    workers = [new Node({ ...stores, ROLE: 'worker' }), new Node({ ...stores, ROLE: 'worker' })];
    world = await startWorld({ env: { ...stores, ROLE: 'all' } });
    await world.ready();
    tenant = await world.tenant();
    const paid = { plan: 'enterprise', entitlements: { ledger: true } };
    expect((await world.platform.patch(`/super/tenants/${tenant.id}`, paid)).status).to.equal(200);
    people = [await tenant.person('Ada'), await tenant.person('Ben'), await tenant.person('Cy')];
    const [first, ...others] = people;
    if (first === undefined) throw new Error('nobody');
    conversationId = await talk(first, ...others);
    for (const account of CHART)
      expect((await tenant.admin.api.post(ACCOUNTS, account)).status).to.equal(201);
    await plainEntity(tenant, 'ticket');
    receiver = await startReceiver();
    await subscribe(tenant.admin, receiver.url, { events: ['entity.created'] });
    await Promise.all([...apis, ...workers].map((node) => node.start()));
    await world.server.stop();
    for (const person of people) {
      const socket = new ResumingSocket(person === first ? apis : apis.toReversed(), person.token);
      await socket.connect();
      sockets.push(socket);
    }
  });
  after(async () => {
    isLoaded = false;
    for (const socket of sockets) socket.close();
    await closeReceivers();
    await cleanUp();
    await events.stop();
    await mongo.stop();
  });

  /** Repeats `work` until the load ends or `work` fails. */
  const worker = async (work: (nth: number) => Promise<void>): Promise<void> => {
    for (let nth = 0; isLoaded; nth += 1) {
      try {
        await work(nth);
        await pause(PACE_MS);
      } catch (error) {
        failures.push(error);
        return;
      }
    }
  };

  const load = (): Promise<void>[] => [
    ...people.map((person, p) =>
      worker(async (nth) => {
        const path = `${BASE}/${conversationId}/messages`;
        const body = { body: `message ${p}/${nth}` };
        const answer = await insist(person.api, apis, (api, options) => api.post(path, body, options));
        done.messages.add(answer.as(liveMessage, 201).id);
        if (nth % 9 === 8) {
          const read = `${BASE}/${conversationId}/read`;
          await insist(person.api, apis, (api, options) => api.post(read, undefined, options));
        }
      }),
    ),
    worker(async (nth) => {
      const values = { values: { title: `ticket ${nth}` } };
      const made = await insist(tenant.admin.api, apis, (api, options) =>
        api.post(`${ENTITIES}/ticket/records`, values, options),
      );
      done.records.add(made.as(record, 201).id);
    }),
    worker(async (nth) => {
      const draft = { date: '2026-03-15', lines: move('1000', '4000', 100 + nth) };
      const drafted = await insist(tenant.admin.api, apis, (api, options) =>
        api.post(ENTRIES, draft, options),
      );
      const { id } = drafted.as(entry, 201);
      await insist(tenant.admin.api, apis, (api, options) =>
        api.post(`${ENTRIES}/${id}/post`, undefined, options),
      );
      done.entries.add(id);
    }),
  ];

  /** Throws the unexpected failures, with the nodes' log lines about answers with 500. */
  const expectNoFailure = (): void => {
    if (failures.length === 0) return;
    const output = [...apis, ...workers].flatMap(({ server }) => server.output().split('\n'));
    const lines = output.filter((line) => line.includes('"status":500'));
    throw new Error(`${failures.join('\n')}\n${lines.join('\n')}`);
  };

  /** Waits until writes of each kind succeed again after a fault. */
  const untilServed = async (): Promise<void> => {
    const before = { messages: done.messages.size, records: done.records.size, entries: done.entries.size };
    await eventually(
      'writes of each kind after a fault',
      () => {
        expectNoFailure();
        return (
          done.messages.size > before.messages + 3 &&
          done.records.size > before.records + 1 &&
          done.entries.size > before.entries + 1
        );
      },
      SETTLED_MS,
    );
  };

  const frozen = async (what: { freeze(): void; thaw(): void }, ms: number): Promise<void> => {
    what.freeze();
    await pause(ms);
    what.thaw();
  };
  const restarted = async (store: { kill(): Promise<void>; restart(): Promise<void> }): Promise<void> => {
    await store.kill();
    await store.restart();
  };

  it('answer 2xx or 503 while nodes and stores are killed and frozen', async () => {
    const working = load();
    await untilServed();
    const [killed, hanging] = apis.map((api, n) => [api, workers[n]]);
    await Promise.all((killed ?? []).map((node) => node?.kill()));
    await untilServed();
    await Promise.all((killed ?? []).map((node) => node?.start()));
    await untilServed();
    const signal = (name: NodeJS.Signals): void => {
      for (const node of hanging ?? []) node?.server.signal(name);
    };
    await frozen({ freeze: () => signal('SIGSTOP'), thaw: () => signal('SIGCONT') }, FROZEN_MS);
    await untilServed();
    // Freezes each store for longer than calls to it may take.
    for (const { store, ms } of [
      { store: events, ms: 7000 },
      { store: mongo, ms: 12_000 },
    ]) {
      await frozen(store, ms);
      await untilServed();
    }
    await Promise.all([restarted(events), restarted(mongo)]);
    await untilServed();
    isLoaded = false;
    await Promise.all(working);
    expectNoFailure();
  }).timeout(400_000);

  const reader = (person: Member): Member => {
    const [api] = apis;
    if (api === undefined) throw new Error('no node');
    return { ...person, api: person.api.at(api.server) };
  };

  it('have every acknowledged message once, and unread counts by the definition', async () => {
    await eventually(
      'read models that are in time',
      async () => {
        const { api } = reader(tenant.admin);
        const answers = await Promise.all([
          ...people.map(reader).map((person) => person.api.get(BASE)),
          ...[ENTRIES, `${REPORTS}/trial-balance`].map((path) => api.get(path)),
        ]);
        return answers.every(({ status }) => status === 200);
      },
      SETTLED_MS,
    );
    for (const person of people.map(reader)) {
      const history = await allMessages(person, conversationId);
      const ids = history.map(({ id }) => id);
      expect(new Set(ids).size).to.equal(ids.length);
      expect(ids).to.have.members([...done.messages]);
      const { participants, unread_count } = await listed(person, conversationId);
      const read = participants.find(({ user_id }) => user_id === person.id)?.last_read_at ?? null;
      expect(unread_count).to.equal(unreadByDefinition(person.id, read, history));
    }
  }).timeout(2 * SETTLED_MS);

  it('have sent every message to every socket', async () => {
    for (const socket of sockets) {
      await eventually(
        'every message',
        () => [...done.messages].every((id) => socket.messageIds.includes(id)),
        SETTLED_MS,
      );
      expect(socket.resyncs, 'replays were possible').to.equal(0);
      expect(new Set(socket.messageIds).size, 'no frame twice').to.equal(socket.messageIds.length);
    }
  }).timeout(2 * SETTLED_MS);

  it('have sent every record to the webhook', async () => {
    await eventually(
      'every record',
      () => {
        const told = new Set(receiver.received.map(({ envelope }) => JSON.stringify(envelope.data)));
        return [...done.records].every((id) => [...told].some((data) => data.includes(id)));
      },
      SETTLED_MS,
    );
    const ids = receiver.received.map(({ envelope }) => envelope.data);
    expect(ids.length).to.be.at.least(done.records.size);
  }).timeout(2 * SETTLED_MS);

  it('have balanced entries, numbered without a gap', async () => {
    const { api } = reader(tenant.admin);
    const numbers: number[] = [];
    for (const id of done.entries) numbers.push((await api.get(`${ENTRIES}/${id}`)).as(entry).number ?? 0);
    numbers.sort((a, b) => a - b);
    expect(numbers).to.deep.equal(numbers.map((_, nth) => nth + 1));
    const balance = (await api.get(`${REPORTS}/trial-balance`)).as(trialBalance);
    expect(balance.balanced).to.equal(true);
  }).timeout(2 * SETTLED_MS);
});
