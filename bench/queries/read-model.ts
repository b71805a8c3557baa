import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type GenerationId, leaseNameOf, type ReadStore } from '../../application/ports/read-store.ts';
import { parseFilter } from '../../domain/expressions/filter.ts';
import { orderKeys } from '../../domain/expressions/order-key.ts';
import { parseSort } from '../../domain/expressions/sort.ts';
import { PRAGMAS } from '../../infrastructure/read-store/sqlite/schema.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { positionOf } from '../../infrastructure/read-store/stored-values.ts';
import { recordsProjection } from '../../projections/entities/records.ts';
import { inFolder } from '../http/platform.ts';
import { ids } from '../logs.ts';
import { type Line, milliseconds } from '../report.ts';
import { median, scaled } from '../rounds.ts';

const SMALL = 50_000;
const LARGE = 1_000_000;
const TENANT = 'bench';
const ENTITY = 'crate';
const TYPES = { code: 'text', title: 'text', total: 'integer' } as const;
const FIELDS = { code: { type: 'text' }, title: { type: 'text' }, total: { type: 'integer' } } as const;
const BATCH = 2_000;
const PAGE = 50;
/** Enough rounds for most measured searches to run compiled code over mapped pages. */
const ROUNDS = 2_000;
const OF_RAW = 2;
const SAME = 1.2;
/** Number of records with the same total, so that a filter by a total selects about this many. */
const ALIKE = 100;

/**
 * Compares searches in the embedded read store with SQL over one table with the same indexes, and a small collection
 * with a large one.
 */
export const benchReadModel = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const [few, many] = [scaled(SMALL, Math.sqrt(scale), 2_000), scaled(LARGE, scale, 4_000)];
    const small = await filled(join(folder, 'small'), few);
    const large = await filled(join(folder, 'large'), many);
    try {
      const lines: Line[] = [];
      for (const kind of ['equality', 'filter and sort', 'sort'] as const) {
        const times = await timed({
          small: (nth) => small.search(kind, nth),
          large: (nth) => large.search(kind, nth),
          smallRaw: async (nth) => small.raw(kind, nth),
          largeRaw: async (nth) => large.raw(kind, nth),
        });
        const line = (count: number, value: number, raw: number): Line => ({
          figure: `records, ${kind}, of ${count.toLocaleString('en')}`,
          value: milliseconds(value),
          yardstick: { name: 'SQL, the same index', value: milliseconds(raw) },
          target: { text: `≤ ${OF_RAW}`, met: value / raw <= OF_RAW },
        });
        lines.push(line(few, times.small, times.smallRaw), line(many, times.large, times.largeRaw), {
          figure: `… of ${many.toLocaleString('en')}`,
          value: milliseconds(times.large),
          yardstick: { name: `of ${few.toLocaleString('en')}`, value: milliseconds(times.small) },
          target: { text: `≤ ${SAME}`, met: times.large / times.small <= SAME },
        });
      }
      return lines;
    } finally {
      await small.close();
      await large.close();
    }
  });

type Kind = 'equality' | 'filter and sort' | 'sort';

/** Median times of alternating sides, in ms; the first quarter is warm-up. */
const timed = async <Name extends string>(
  sides: Readonly<Record<Name, (nth: number) => Promise<unknown>>>,
): Promise<Record<Name, number>> => {
  const names = Object.keys(sides) as Name[];
  const times = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let nth = 0; nth < ROUNDS; nth += 1) {
    for (const name of names) {
      const began = performance.now();
      await sides[name](nth);
      if (nth >= ROUNDS / 4) times.get(name)?.push(performance.now() - began);
    }
  }
  const medians: Partial<Record<Name, number>> = {};
  for (const [name, each] of times) medians[name] = median(each);
  return medians as Record<Name, number>;
};

/** A read store and a plain table with the same records. */
const filled = async (path: string, count: number) => {
  const store = await openSqliteReadStore({ path: `${path}.db` });
  const raw = new DatabaseSync(`${path}-raw.db`);
  for (const pragma of PRAGMAS) raw.exec(`PRAGMA ${pragma}`);
  raw.exec(`CREATE TABLE records (tenant TEXT, entity TEXT, id TEXT, code TEXT, total INTEGER, doc TEXT);
    CREATE UNIQUE INDEX by_code ON records (tenant, entity, code);
    CREATE INDEX by_total ON records (tenant, entity, total, id)`);
  const generation = await opened(store);
  const insert = raw.prepare('INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)');
  const alike = Math.ceil(count / ALIKE);
  let at = 0;
  for (let first = 0; first < count; first += BATCH) {
    const docs = Array.from({ length: Math.min(BATCH, count - first) }, (_, nth) =>
      recordOf(first + nth, alike),
    );
    at += 1;
    const position = positionOf(String(at).padStart(16, '0'));
    const writes = docs.map((value) => ({
      collection: 'records',
      tenant: TENANT,
      id: value.id,
      position,
      value,
    }));
    await store.commit({ generation: generation.id, fence: generation.fence, writes, checkpoint: position });
    raw.exec('BEGIN');
    for (const doc of docs) {
      insert.run(TENANT, ENTITY, doc.id, doc.values.code, doc.values.total, JSON.stringify(doc));
    }
    raw.exec('COMMIT');
  }
  const byCode = raw.prepare('SELECT doc FROM records WHERE tenant = ? AND entity = ? AND code = ?');
  const byTotal = raw.prepare(
    `SELECT doc FROM records WHERE tenant = ? AND entity = ? AND total >= ? AND total < ?
     ORDER BY total, id LIMIT ${PAGE}`,
  );
  const inOrder = raw.prepare(
    `SELECT doc FROM records WHERE tenant = ? AND entity = ? ORDER BY total DESC, id DESC LIMIT ${PAGE}`,
  );
  const base = {
    collection: 'records',
    tenant: TENANT,
    index: 'by_created_at',
    equals: [ENTITY],
    order: 'desc',
    now: Date.now(),
    limit: PAGE,
  } as const;
  const wanted = (nth: number) => (nth * 7919) % count;
  return {
    search: async (kind: Kind, nth: number) => {
      const text = textOf(kind, wanted(nth), alike);
      const found = await store.search(generation.id, {
        ...base,
        filter: text === undefined ? undefined : parseFilter(text, FIELDS),
        sort: kind === 'equality' ? undefined : parseSort(kind === 'sort' ? '-total' : 'total', FIELDS),
      });
      if (found.docs.length === 0) throw new Error('nothing was found');
    },
    raw: (kind: Kind, nth: number) => {
      const at = wanted(nth);
      const rows =
        kind === 'equality'
          ? byCode.all(TENANT, ENTITY, codeOf(at))
          : kind === 'sort'
            ? inOrder.all(TENANT, ENTITY)
            : byTotal.all(TENANT, ENTITY, at % alike, (at % alike) + 1);
      if (rows.map(({ doc }) => JSON.parse(String(doc))).length === 0) throw new Error('nothing was found');
    },
    close: async () => {
      raw.close();
      await store.close();
    },
  };
};

const textOf = (kind: Kind, at: number, alike: number): string | undefined => {
  switch (kind) {
    case 'equality':
      return `code == "${codeOf(at)}"`;
    case 'filter and sort':
      return `total >= ${at % alike} && total < ${(at % alike) + 1}`;
    case 'sort':
      return undefined;
    default:
      return kind satisfies never;
  }
};

const opened = async (store: ReadStore): Promise<{ id: GenerationId; fence: number }> => {
  const id = { projection: 'records', tag: 'v2' };
  await store.prepare(id, recordsProjection.collections);
  const lease = await store.acquireLease(leaseNameOf(id), 'bench', 3_600_000);
  if (lease === undefined) throw new Error('no lease');
  return { id, fence: lease.fence };
};

const codeOf = (nth: number): string => `C-${String((nth * 48_271) % 2_147_483_647).padStart(10, '0')}`;

const recordOf = (nth: number, alike: number) => {
  const created_at = new Date(Date.UTC(2026, 0, 1) + nth * 1000).toISOString();
  const values = {
    code: codeOf(nth),
    title: `A crate of an ordinary size, number ${nth}`,
    total: nth % alike,
  };
  return {
    id: ids.next(),
    entity_name: ENTITY,
    listed: ENTITY,
    values,
    keys: orderKeys(TYPES, values),
    refs: [],
    state: null,
    job_id: null,
    version: 1,
    created_at,
    updated_at: created_at,
    created_by: 'ann',
    deletion_id: null,
  };
};
