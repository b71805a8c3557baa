import { type Child, startChild } from '../http/child.ts';
import { Connection, closedLoop, requestBytes } from '../http/load.ts';
import { BODY, inFolder, startPlatformChild } from '../http/platform.ts';
import { tenantToken } from '../http/tokens.ts';
import { type Line, milliseconds, perSecond } from '../report.ts';
import { alternate, scaled } from '../rounds.ts';
import { contextOf, createTenant, makeMany, NONE, readModelCaughtUp, withUseCases } from '../use-cases.ts';
import { alternately, rateOf } from './load.ts';

const TENANT = 'bench';
const ENTITY = 'crate';
const RECORDS = 50_000;
const BASE = `/api/v1/tenant/entities/${ENTITY}/records`;
const SAME = 0.95;
/** 3,000 per second beside 26,617 of bare Express (docs/benchmarks.md). */
const OF_BARE = 0.11;

/**
 * Lists over HTTP: indexed filters on 64 connections and on 16 connections, and a filter that no index supports.
 * Compares writes of records with plain Express.
 */
export const benchLists = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const count = scaled(RECORDS, scale, 500);
    await makeRecords(folder, count);
    const platform = await startPlatformChild(folder);
    try {
      const token = tenantToken(TENANT, 'ann');
      const seconds = Math.max(0.5, 2 * scale);
      let next = 0;
      const list = (filter: string, sort?: string): Buffer => {
        const query = new URLSearchParams({ filter, limit: '50', ...(sort === undefined ? {} : { sort }) });
        return requestBytes('GET', `${BASE}?${query}`, { token });
      };
      const another = (): number => {
        next += 7919;
        return next;
      };
      const byCode = () => list(`code == "C-${another() % count}"`);
      const sorted = () => list(`total == ${another() % 500}`, '-total');
      const of = (connections: number, one: () => Buffer) => () =>
        rateOf(platform.port, connections, seconds, () => Array.from({ length: 50 }, one));
      await of(16, byCode)();
      const rates = await alternately(3, {
        few: of(16, byCode),
        many: of(64, byCode),
        sorted: of(64, sorted),
      });
      const one = await Connection.open(platform.port);
      const alone: number[] = [];
      for (let nth = 0; nth < 10; nth += 1) {
        const began = performance.now();
        await one.ask(list('title.contains("number 4999")'));
        alone.push(performance.now() - began);
      }
      one.close();
      const post = requestBytes('POST', BASE, {
        token,
        body: { values: { code: 'C-new', title: 'A crate of an ordinary size', total: 1 } },
      });
      const writes = await beside(platform, post, 2 * seconds);
      return [
        {
          figure: 'POST record, 64 connections',
          value: perSecond(writes.platform),
          yardstick: { name: 'bare Express, parse and echo', value: perSecond(writes.bare) },
          target: { text: `≥ ${OF_BARE}`, met: writes.platform / writes.bare >= OF_BARE },
        },
        {
          figure: `list of ${count.toLocaleString('en')} by a unique value, 64 connections`,
          value: perSecond(rates.many.perSecond),
          yardstick: { name: '16 connections', value: perSecond(rates.few.perSecond) },
          target: { text: `≥ ${SAME}`, met: rates.many.perSecond / rates.few.perSecond >= SAME },
        },
        { figure: '… p99', value: milliseconds(rates.many.p99) },
        { figure: '… filter and sort', value: perSecond(rates.sorted.perSecond) },
        { figure: '… p99', value: milliseconds(rates.sorted.p99) },
        { figure: '… contains, one connection', value: milliseconds(Math.min(...alone)) },
      ];
    } finally {
      await platform.stop();
    }
  });

/** Compares writes of 64 connections with plain Express under the same load, in alternating rounds. */
const beside = async (platform: Child, post: Buffer, seconds: number) => {
  const bare = await startChild('http/bare-express.ts', '/');
  try {
    const echo = requestBytes('POST', '/echo', { body: BODY });
    const load = (port: number, request: Buffer, expectedStatus: number) => () =>
      closedLoop({ port, requests: Array.from({ length: 64 }, () => [request]), seconds, expectedStatus });
    const sides = { bare: load(bare.port, echo, 200), platform: load(platform.port, post, 201) };
    await alternate(1, sides);
    return await alternate(3, sides);
  } finally {
    await bare.stop();
  }
};

const makeRecords = (folder: string, count: number): Promise<void> =>
  withUseCases(folder, async (useCases) => {
    await createTenant(useCases, TENANT, { entitlements: NONE });
    await useCases.authentication.authenticate(tenantToken(TENANT, 'ann'), 'tenant');
    const fields = [
      { key: 'code', label: 'Code', type: 'text', required: false },
      { key: 'title', label: 'Title', type: 'text', required: false },
      { key: 'total', label: 'Total', type: 'integer', required: false },
    ] as const;
    await useCases.schemas.define(
      TENANT,
      { name: ENTITY, label: 'Crate', fields: [...fields] },
      contextOf('ann'),
    );
    const valuesOf = (nth: number) => ({
      code: `C-${nth}`,
      title: `A crate of an ordinary size, number ${nth}`,
      total: nth % 500,
    });
    await makeMany(
      count,
      200,
      (nth) => useCases.records.create(TENANT, ENTITY, valuesOf(nth), contextOf('ann')),
      (made) => readModelCaughtUp(useCases, TENANT, 'records', made.at(-1)?.position),
    );
  });
