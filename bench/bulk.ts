import { setTimeout } from 'node:timers/promises';
import { benchAppend } from './append.ts';
import { Connection, requestBytes } from './http/load.ts';
import { inFolder, startPlatformChild } from './http/platform.ts';
import { tenantToken } from './http/tokens.ts';
import { type Line, mebibytes, milliseconds, perSecond } from './report.ts';
import { median, percentile, scaled } from './rounds.ts';
import { contextOf, createTenant, makeMany, NONE, readModelCaughtUp, withUseCases } from './use-cases.ts';

const MANY = 100_000;
const FEW = 10_000;
const OF_APPENDS = 0.16;
const SAME_MEMORY = 1.3;
const LINEAR = 12;
const TIMES_IDLE = 3;
const ABOVE_IDLE_MS = 25;

const ROUNDS = 3;
/** Timeout of each request of an edit; a preview of 100,000 rows takes longest. */
const PREVIEW_MS = 120_000;
const APPENDERS = 64;
const ENTITY = 'thing';

const BULK = '/api/v1/tenant/bulk-ops';
const RECORDS = `/api/v1/tenant/entities/${ENTITY}/records`;

const TENANTS = ['many', 'few', 'other'] as const;
type Tenant = (typeof TENANTS)[number];
const adminOf = (tenant: Tenant): string => tenantToken(tenant, 'ann', 'admin');

/**
 * Compares bulk edits of 100,000 records with single appends to as many streams, and their memory and preview time with
 * those of 10,000 records. Measures the latency of other requests during an edit.
 */
export const benchBulk = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const sizes = { many: scaled(MANY, scale, FEW / 5), few: scaled(FEW, scale, FEW / 10), other: 100 };
    const known = await makeRecords(folder, sizes);
    // Each of these two edits runs in its own process, so that the peaks are separate.
    const few = await inPlatform(folder, async (bench) => bench.edited('few').then(() => bench.peak()));
    const many = await inPlatform(folder, async (bench) => bench.edited('many').then(() => bench.peak()));
    const memory: Line = {
      figure: `peak memory, ${sizes.many.toLocaleString('en')} rows previewed and committed`,
      value: mebibytes(many),
      yardstick: { name: `the same of ${sizes.few.toLocaleString('en')}`, value: mebibytes(few) },
      target: { text: `≤ ${SAME_MEMORY}`, met: many / few <= SAME_MEMORY },
    };
    const rest = await inPlatform(folder, async (bench) => [
      await rate(bench, sizes.many),
      await waits(bench, known, scale),
      await previews(bench, sizes),
    ]);
    return [...rest, memory];
  });

/** Compares the best of three rounds of each side (as in append.ts), since other load slows the machine at times. */
const rate = async (bench: Bench, rows: number): Promise<Line> => {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rates.push((rows / (await bench.edited('many'))) * 1000);
  const { adapter } = await benchAppend(rows, Math.ceil(rows / APPENDERS));
  const value = Math.max(...rates);
  return {
    figure: `bulk edit of ${rows.toLocaleString('en')} rows`,
    value: perSecond(value),
    yardstick: { name: 'single appends to as many streams', value: perSecond(adapter) },
    target: { text: `≥ ${OF_APPENDS}`, met: value / adapter >= OF_APPENDS },
  };
};

/** Latency of another tenant's reads and writes: four callers, each with a pause after every answer. */
const waits = async (bench: Bench, known: string, scale: number): Promise<Line> => {
  const signal = new AbortController();
  await bench.others(known, AbortSignal.timeout(Math.max(500, 2000 * scale)));
  const idle = percentile(await bench.others(known, AbortSignal.timeout(Math.max(1000, 6000 * scale))), 0.99);
  const during = bench.others(known, signal.signal);
  await bench.edited('many');
  signal.abort();
  const busy = percentile(await during, 0.99);
  return {
    figure: 'other requests while rows are committed, p99',
    value: milliseconds(busy),
    yardstick: { name: 'the same when idle', value: milliseconds(idle) },
    target: {
      text: `≤ ${TIMES_IDLE} or +${ABOVE_IDLE_MS} ms`,
      met: busy <= Math.max(TIMES_IDLE * idle, idle + ABOVE_IDLE_MS),
    },
  };
};

const previews = async (bench: Bench, sizes: Readonly<Record<Tenant, number>>): Promise<Line> => {
  const times = { many: [] as number[], few: [] as number[] };
  // Edits `few` as often as `many` was edited: the time to read a record grows with its number of events.
  for (let edit = 0; edit < ROUNDS + 1; edit += 1) await bench.edited('few');
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const tenant of ['few', 'many'] as const) times[tenant].push((await bench.previewed(tenant)).ms);
  }
  const [value, yardstick] = [median(times.many), median(times.few)];
  return {
    figure: `preview by filter of ${sizes.many.toLocaleString('en')} rows`,
    value: milliseconds(value),
    yardstick: { name: `the same of ${sizes.few.toLocaleString('en')}`, value: milliseconds(yardstick) },
    target: { text: `≤ ${LINEAR}`, met: value / yardstick <= LINEAR },
  };
};

interface Bench {
  previewed(tenant: Tenant): Promise<{ readonly id: string; readonly ms: number }>;
  /** Edits all records of the tenant. @returns ms from the request of the commit to the end of the commit */
  edited(tenant: Tenant): Promise<number>;
  /** Durations (ms) of another tenant's requests. */
  others(known: string, signal: AbortSignal): Promise<number[]>;
  peak(): number;
}

const inPlatform = async <T>(folder: string, work: (bench: Bench) => Promise<T>): Promise<T> => {
  const platform = await startPlatformChild(folder);
  const connection = await Connection.open(platform.port, PREVIEW_MS);
  const bench: Bench = {
    previewed: async (tenant) => {
      edits += 1;
      const body = {
        entity_name: ENTITY,
        operation: 'edit',
        selection: { kind: 'filter', filter_expr: 'n >= 0' },
        op_params: { kind: 'edit', fields: [{ field_key: 'n', new_value: edits }] },
      };
      const request = requestBytes('POST', `${BULK}/preview`, { token: adminOf(tenant), body });
      const began = performance.now();
      const { id } = JSON.parse(await connection.ask(request, 201));
      return { id, ms: performance.now() - began };
    },
    edited: async (tenant) => {
      const { id } = await bench.previewed(tenant);
      const token = adminOf(tenant);
      const path = `${BULK}/sessions/${id}`;
      const began = Date.now();
      await connection.ask(requestBytes('POST', `${path}/commit`, { token }), 202);
      for (;;) {
        const { status, result } = JSON.parse(await connection.ask(requestBytes('GET', path, { token })));
        if (result !== undefined) {
          if (status !== 'committed' || result.errored > 0) throw new Error(`the session is ${status}`);
          return Date.parse(result.committed_at) - began;
        }
        await setTimeout(100);
      }
    },
    others: (known, signal) => others(platform.port, known, signal),
    peak: () => platform.peakBytes(),
  };
  try {
    return await work(bench);
  } finally {
    connection.close();
    await platform.stop();
  }
};

/** Each edit sets a new value, since equal values are skipped. */
let edits = 0;

const CALLERS = 4;
const THINK_MS = 10;

const others = async (port: number, known: string, signal: AbortSignal): Promise<number[]> => {
  const token = adminOf('other');
  const requests = [
    { bytes: requestBytes('GET', `${RECORDS}/${known}`, { token }), status: 200 },
    { bytes: requestBytes('POST', RECORDS, { token, body: { values: { n: 1 } } }), status: 201 },
  ];
  const times: number[] = [];
  const work = async (nth: number): Promise<void> => {
    const connection = await Connection.open(port);
    try {
      for (let at = nth; !signal.aborted; at += 1) {
        const request = requests[at % requests.length];
        if (request === undefined) return;
        const began = performance.now();
        await connection.ask(request.bytes, request.status);
        times.push(performance.now() - began);
        await setTimeout(THINK_MS);
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, nth) => work(nth)));
  return times;
};

const AT_ONCE = 500;

/** Creates records through the use cases, without HTTP. @returns the id of a record of the tenant `other` */
const makeRecords = (dataDir: string, sizes: Readonly<Record<Tenant, number>>): Promise<string> =>
  withUseCases(dataDir, async (useCases) => {
    let known = '';
    for (const id of TENANTS) {
      await createTenant(useCases, id, { plan: 'pro', entitlements: NONE });
      await useCases.authentication.authenticate(adminOf(id), 'tenant');
      const fields = [{ key: 'n', label: 'N', type: 'integer' as const, required: false }];
      await useCases.schemas.define(id, { name: ENTITY, label: 'Thing', fields }, contextOf('ann'));
      const made = await makeMany(
        sizes[id],
        AT_ONCE,
        () => useCases.records.create(id, ENTITY, { n: 0 }, contextOf('ann')),
        (some) => readModelCaughtUp(useCases, id, 'records', some.at(-1)?.position),
      );
      known = made.at(-1)?.record.id ?? '';
    }
    return known;
  });
