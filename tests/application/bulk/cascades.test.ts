import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { countCascade } from '../../../application/bulk/cascades.ts';
import { CHAIN_START, EventCodec } from '../../../application/core/events/event-codec.ts';
import type { EventStore, NewEvent, Position, StoredEvent } from '../../../application/ports/event-store.ts';
import { catalogue } from '../../../domain/catalogue.ts';

const RECORDS = 400;
const TEXT = 'x'.repeat(200_000);

const cause = { actor: { kind: 'user', id: 'ann' }, correlationId: 'one', causationId: 'one' } as const;

describe('The count of a cascade', () => {
  it('reads few large records at a time, and lets other work run between them', async () => {
    const codec = new EventCodec(catalogue);
    const deleted = (nth: number): NewEvent => {
      const data = {
        record_id: `record-${nth}`,
        entity_name: 'node',
        deletion_id: `bulk:session:${nth}`,
        values: { text: TEXT },
        version: 1,
      };
      const event = { id: `event-${nth}`, type: 'RecordDeleted', data, at: 0 };
      return codec.encode(`acme.record-${nth}`, 'acme', CHAIN_START, event, cause, false).stored;
    };
    const log = Array.from({ length: RECORDS }, (_, nth): StoredEvent => {
      const position = String(nth).padStart(4, '0') as Position;
      return { ...deleted(nth), stream: `acme.record-${nth}`, revision: 0, position };
    });
    let mostRead = 0;
    const events: Pick<EventStore, 'readAll'> = {
      readAll: async ({ from = '', limit = RECORDS } = {}) => {
        const page = log.filter(({ position }) => position > from).slice(0, limit);
        mostRead = Math.max(mostRead, page.length);
        return page;
      },
    };
    let ticks = 0;
    let isCounted = false;
    const ticking = (async () => {
      for (; !isCounted; ticks += 1) await setImmediate();
    })();
    const run = {
      tenantId: 'acme',
      sessionId: 'session',
      opParams: { kind: 'delete' },
      entityName: 'node',
      since: '' as Position,
    } as const;
    const referrers = { canPointTo: async () => true };
    const cascade = await countCascade({ events, codec, referrers }, run, ['record-0']);
    isCounted = true;
    await ticking;
    expect(cascade?.total).to.equal(RECORDS - 1);
    expect(mostRead).to.be.at.most(64);
    expect(ticks).to.be.at.least(5);
  }).timeout(60_000);
});
