import { join } from 'node:path';
import { CHAIN_START, type ChainLink } from '../application/core/events/event-codec.ts';
import type { NewEvent } from '../application/ports/event-store.ts';
import { DomainError } from '../domain/core/errors.ts';
import { openSqliteEventStore } from '../infrastructure/event-store/sqlite/store.ts';
import { Connection, requestBytes } from './http/load.ts';
import { inFolder, startPlatformChild } from './http/platform.ts';
import { partnerToken } from './http/tokens.ts';
import { causeOf, ids, newCodec } from './logs.ts';
import { type Line, milliseconds } from './report.ts';
import { alternateCases, scaled } from './rounds.ts';
import { contextOf, createTenant, NONE, withUseCases } from './use-cases.ts';

const LARGE = 1_000_000;
const SMALL = 10_000;
const SAME = 1.3;
const USERS = 100;
const DAYS = 30;
/** Events of one stream per append. */
const AT_ONCE = 200;
const STREAMS_AT_ONCE = 20;

const PATH = '/api/v1/partner-portal/billing/statements?from=2026-04-01&to=2026-05-01';
const CARD = {
  rates: {
    job_transitions: { wholesale: '0.5', retail: '0.75', included: 1000 },
    active_users: { wholesale: '100', retail: '150' },
  },
  ifVersion: undefined,
};

/**
 * Compares a statement over a million metered events with a statement over ten thousand, both with the same number of
 * people and days.
 */
export const benchBilling = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const many = scaled(LARGE, scale, 2 * SMALL);
    const customers = { large: many, small: SMALL };
    await withUseCases(folder, async (useCases) => {
      for (const id of Object.keys(customers)) {
        await useCases.partners.create({ id, name: id }, contextOf('bench'));
        await createTenant(useCases, id, { plan: 'pro', partner_id: id, entitlements: NONE });
        await useCases.rateCards.replace(id, CARD, contextOf('bench'));
      }
    });
    for (const [id, count] of Object.entries(customers)) await fill(folder, id, count);
    // Waits until all events are counted, before anything is measured.
    await withUseCases(folder, async (useCases) => {
      for (const id of Object.keys(customers)) {
        while (!(await isCounted(() => useCases.statements.draft(id, id, WINDOW)))) await pause();
      }
    });
    const platform = await startPlatformChild(folder);
    try {
      return [await time(platform.port, many, scale)];
    } finally {
      await platform.stop();
    }
  });

const WINDOW = { from: '2026-04-01T00:00:00.000Z', to: '2026-05-01T00:00:00.000Z' };
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));

const isCounted = async (read: () => Promise<unknown>): Promise<boolean> => {
  try {
    await read();
    return true;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'read_model_behind') return false;
    throw error;
  }
};

/** Appends transitions of jobs, evenly spread over days and people. */
const fill = async (folder: string, tenantId: string, count: number): Promise<void> => {
  const events = openSqliteEventStore({ path: join(folder, 'events.db') });
  const { codec } = newCodec();
  const causes = Array.from({ length: USERS }, (_, nth) => causeOf(`user-${nth}`));
  let made = 0;
  const job = async (): Promise<void> => {
    const id = ids.next();
    const stream = `${tenantId}.record-${id}`;
    const data = {
      record_id: id,
      entity_name: 'thing',
      workflow: 'circle',
      workflow_version: 1,
      from_state: 'a',
      to_state: 'b',
      event_name: 'go',
    };
    let link: ChainLink = CHAIN_START;
    const batch: NewEvent[] = [];
    while (batch.length < AT_ONCE && made < count) {
      const at = Date.parse(WINDOW.from) + Math.floor((made / count) * DAYS * 86_400_000);
      const cause = causes[made % USERS] ?? causeOf('nobody');
      made += 1;
      const event = { id: ids.next(), type: 'JobTransitioned', data, at };
      const { stored, recorded } = codec.encode(stream, tenantId, link, event, cause);
      link = recorded;
      batch.push(stored);
    }
    if (batch.length > 0) await events.append(stream, 'no_stream', batch);
  };
  try {
    while (made < count) await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, job));
  } finally {
    await events.close();
  }
};

const time = async (port: number, many: number, scale: number): Promise<Line> => {
  const connection = await Connection.open(port);
  const counts = { large: many, small: SMALL };
  try {
    const { large: value, small: yardstick } = await alternateCases(scaled(400, scale, 100), async (kind) => {
      const body = await connection.ask(requestBytes('GET', PATH, { token: partnerToken(kind) }));
      if (!body.includes(`"quantity":${counts[kind]},`)) throw new Error(body.slice(0, 500));
    });
    return {
      figure: `a statement over ${many.toLocaleString('en')} events`,
      value: milliseconds(value),
      yardstick: { name: `the same over ${SMALL.toLocaleString('en')}`, value: milliseconds(yardstick) },
      target: { text: `≤ ${SAME}`, met: value / yardstick <= SAME },
    };
  } finally {
    connection.close();
  }
};
