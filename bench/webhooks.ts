import { Pool } from 'undici';
import { z } from 'zod';
import { headersOf, signingKeyOf } from '../application/webhooks/signature.ts';
import { deliveriesOf } from '../projections/webhooks/webhook-deliveries.ts';
import { type Child, startChild } from './http/child.ts';
import { Connection, requestBytes } from './http/load.ts';
import { ADMIN, inFolder, startPlatformChild } from './http/platform.ts';
import { tenantToken } from './http/tokens.ts';
import { ids } from './logs.ts';
import { type Line, milliseconds, perSecond } from './report.ts';
import { percentile, scaled, until } from './rounds.ts';
import { contextOf, createTenant, makeMany, NONE, type UseCases, withUseCases } from './use-cases.ts';

const TENANT = 'bench';
const ENTITY = 'crate';
/** Each subscription has four concurrent calls. */
const SUBSCRIPTIONS = 16;
const CALLERS = 4 * SUBSCRIPTIONS;
/** Share of warm-up in the deliveries, and in the calls of the loop. */
const WARMING = 0.25;
const OF_UNDICI = 0.35;
const PER_SECOND = 100;
const MOST_MS = 100;
const PENDING = 10_000;
const DEAD_AS_LIVE = 1.5;
const ARRIVAL_TIMEOUT_MS = 180_000;

const OPEN = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_ALLOW_HTTP: '1' };

/**
 * Compares deliveries to a local receiver with a loop of undici with equal bodies, headers and concurrency. Measures
 * the delay of a delivery at 100 events per second, and the delay while ten thousand more deliveries wait for a dead
 * host.
 */
export const benchWebhooks = async (scale: number): Promise<Line[]> => {
  const receiver = await startChild('http/receiver.ts', '/');
  try {
    return [
      await inFolder((folder) => rateDeliveries(folder, receiver, scale)),
      ...(await inFolder((folder) => timeAttempts(folder, receiver, scale))),
    ];
  } finally {
    await receiver.stop();
  }
};

const urlOf = ({ port }: Child): string => `http://127.0.0.1:${port}/hook`;

const rateDeliveries = async (folder: string, receiver: Child, scale: number): Promise<Line> => {
  const records = scaled(600, scale, 20);
  const count = records * SUBSCRIPTIONS;
  await within(folder, async (useCases) => {
    await openTenant(useCases);
    const hooks: string[] = [];
    for (let nth = 0; nth < SUBSCRIPTIONS; nth += 1) {
      hooks.push(await subscribe(useCases, urlOf(receiver), 'entity.created'));
    }
    await fill(useCases, hooks, records);
  });
  const platform = await startPlatformChild(folder, OPEN);
  try {
    await bareLoop(receiver, count * WARMING);
    const bare = [await bareLoop(receiver, count)];
    await activate(platform);
    const began = await arrived(receiver, count * WARMING);
    const rate = ((count * (1 - WARMING)) / ((await arrived(receiver, count)) - began)) * 1000;
    await timesOf(receiver);
    bare.push(await bareLoop(receiver, count));
    const yardstick = (bare[0] ?? 0) / 2 + (bare[1] ?? 0) / 2;
    return {
      figure: `webhook deliveries, ${CALLERS} calls at once`,
      value: perSecond(rate),
      yardstick: { name: `undici, ${CALLERS} kept connections`, value: perSecond(yardstick) },
      target: { text: `≥ ${OF_UNDICI}`, met: rate / yardstick >= OF_UNDICI },
    };
  } finally {
    await platform.stop();
  }
};

const bareLoop = async (receiver: Child, count: number): Promise<number> => {
  const pool = new Pool(`http://127.0.0.1:${receiver.port}`, { connections: CALLERS });
  const body = JSON.stringify({
    id: ids.next(),
    event: 'entity.created',
    occurred_at: new Date().toISOString(),
    tenant_id: TENANT,
    data: { entity_name: ENTITY, entity_id: ids.next(), values: valuesOf(1), version: 1 },
  });
  const about = { event: 'entity.created', deliveryId: ids.next(), attempt: 1, now: Date.now() };
  const headers = headersOf({ ...about, body: Buffer.from(body), secret: signingKeyOf('a secret') });
  let left = count;
  const call = async (): Promise<void> => {
    while (left-- > 0) {
      const answer = await pool.request({ path: '/hook', method: 'POST', headers, body });
      await answer.body.dump();
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: CALLERS }, call));
  const rate = (count / (performance.now() - began)) * 1000;
  await pool.close();
  await timesOf(receiver);
  return rate;
};

const timeAttempts = async (folder: string, receiver: Child, scale: number): Promise<Line[]> => {
  const count = scaled(1500, scale, 50);
  const pending = scaled(PENDING, scale, 200);
  const records = await within(folder, async (useCases) => {
    await openTenant(useCases);
    await subscribe(useCases, urlOf(receiver), 'entity.updated');
    return addRecords(useCases, PER_SECOND);
  });
  const alone = await steadily(folder, receiver, records, count);
  const gone = await startChild('http/receiver.ts', '/');
  await gone.stop();
  await within(folder, async (useCases) => {
    await suspend(useCases);
    await fill(useCases, [await subscribe(useCases, urlOf(gone), 'entity.created')], pending);
  });
  const beside = await steadily(folder, receiver, records, count);
  return [
    {
      figure: `event to first attempt at ${PER_SECOND}/s, p99`,
      value: milliseconds(alone),
      target: { text: `≤ ${MOST_MS} ms`, met: alone <= MOST_MS },
    },
    {
      figure: `… with ${pending.toLocaleString('en')} pending for a dead host`,
      value: milliseconds(beside),
      yardstick: { name: 'without', value: milliseconds(alone) },
      target: { text: `≤ ${DEAD_AS_LIVE}`, met: beside / alone <= DEAD_AS_LIVE },
    },
  ];
};

/** 99th percentile in ms from the event to the receiver; changes are sent on schedule. */
const steadily = async (
  folder: string,
  receiver: Child,
  records: readonly string[],
  count: number,
): Promise<number> => {
  const platform = await startPlatformChild(folder, OPEN);
  const idle = await Promise.all(Array.from({ length: 8 }, () => Connection.open(platform.port)));
  const all = [...idle];
  try {
    await activate(platform);
    const token = tenantToken(TENANT, 'ann');
    const send = async (changes: number): Promise<void> => {
      const began = performance.now();
      const sent: Promise<void>[] = [];
      for (let nth = 0; nth < changes; nth += 1) {
        await until(began + (nth * 1000) / PER_SECOND);
        const connection = idle.pop() ?? (await Connection.open(platform.port));
        if (!all.includes(connection)) all.push(connection);
        const path = `/api/v1/tenant/entities/${ENTITY}/records/${records[nth % records.length]}`;
        const body = { values: { title: `changed ${ids.next()}` } };
        sent.push(
          connection.ask(requestBytes('PATCH', path, { token, body })).then(() => void idle.push(connection)),
        );
      }
      await Promise.all(sent);
      await arrived(receiver, changes);
    };
    await send(records.length * 2);
    await timesOf(receiver);
    await send(count);
    return percentile(await timesOf(receiver), 0.99);
  } finally {
    for (const connection of all) connection.close();
    await platform.stop();
  }
};

// Preparation

const within = <T>(dataDir: string, run: (useCases: UseCases) => Promise<T>): Promise<T> =>
  withUseCases(dataDir, run, OPEN);

const openTenant = async (useCases: UseCases): Promise<void> => {
  await createTenant(useCases, TENANT, { entitlements: NONE });
  await useCases.authentication.authenticate(tenantToken(TENANT, 'ann'), 'tenant');
  const fields = [{ key: 'title', label: 'Title', type: 'text', required: true }] as const;
  await useCases.schemas.define(
    TENANT,
    { name: ENTITY, label: 'Crate', fields: [...fields] },
    contextOf('ann'),
  );
};

const suspend = (useCases: UseCases) =>
  useCases.tenancy.change(TENANT, { status: 'suspended' }, contextOf('ann'));

const subscribe = async (useCases: UseCases, url: string, event: 'entity.created' | 'entity.updated') => {
  const wanted = { url, events: [event], description: '' };
  return (await useCases.webhooks.create(TENANT, wanted, 'enterprise', contextOf('ann'))).subscription.id;
};

const valuesOf = (nth: number) => ({ title: `A crate of an ordinary size, number ${nth}` });

const AT_ONCE = 100;
const addRecords = async (useCases: UseCases, count: number): Promise<string[]> => {
  const make = (nth: number) => useCases.records.create(TENANT, ENTITY, valuesOf(nth), contextOf('ann'));
  return (await makeMany(count, AT_ONCE, make)).map(({ record }) => record.id);
};

/** Creates `count` deliveries per subscription. They wait because the tenant is suspended. */
const fill = async (useCases: UseCases, hooks: readonly string[], count: number): Promise<void> => {
  await suspend(useCases);
  await addRecords(useCases, count);
  const reader = useCases.readModels.reader('webhook_deliveries');
  const deadline = performance.now() + ARRIVAL_TIMEOUT_MS;
  for (const hook of hooks) {
    for (let found = 0; found < count; ) {
      if (performance.now() > deadline) throw new Error('the deliveries were not made');
      await until(performance.now() + 100);
      found = 0;
      let page = await deliveriesOf(reader, TENANT, hook, {}, { limit: 200, after: undefined });
      for (found += page.docs.length; page.next !== undefined; found += page.docs.length) {
        page = await deliveriesOf(reader, TENANT, hook, {}, { limit: 200, after: page.next });
      }
    }
  }
};

// Over HTTP

const activate = async ({ port }: Child): Promise<void> => {
  const connection = await Connection.open(port);
  const login = await connection.ask(requestBytes('POST', '/super/auth/login', { body: ADMIN }));
  const { token } = z.object({ token: z.string() }).parse(JSON.parse(login));
  const body = { status: 'active' };
  await connection.ask(requestBytes('PATCH', `/super/tenants/${TENANT}`, { token, body }));
  connection.close();
};

const reported = async (
  { port }: Child,
  path: string,
  signal: AbortSignal | null = null,
): Promise<number[]> =>
  z.array(z.number()).parse(await (await fetch(`http://127.0.0.1:${port}${path}`, { signal })).json());

const timesOf = (receiver: Child): Promise<number[]> => reported(receiver, '/times');

/** @returns when `count` deliveries had arrived, in ms */
const arrived = async (receiver: Child, count: number): Promise<number> => {
  const [at] = await reported(receiver, `/after/${count}`, AbortSignal.timeout(ARRIVAL_TIMEOUT_MS));
  if (at === undefined) throw new Error('the receiver did not tell when they arrived');
  return at;
};
