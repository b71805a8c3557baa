import { expect } from 'chai';
import { EventExport } from '../../../application/audit/event-export.ts';
import { KeyRing } from '../../../application/core/privacy/key-ring.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { catalogue } from '../../../domain/catalogue.ts';
import { event } from '../../contract/event-store-parts/helpers.ts';
import { fillAuditLog } from '../../support/audit-log.ts';
import { withEachEventStore } from '../../support/event-stores.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import { MASTER_KEY } from '../../support/node.ts';

const FOREIGN = 200_000;
/** The largest number of events that one scan of the embedded log reads. */
const STEP = 4096;

const exportOf = (events: EventStore, keyStore = memoryKeyStore()) =>
  new EventExport({ events, catalogue, keys: new KeyRing(keyStore, MASTER_KEY) });

const linesIn = (piece: Uint8Array): string[] => Buffer.from(piece).toString('utf8').split('\n').slice(0, -1);

/** Counts scans and scanned events. */
const counted = (store: EventStore) => {
  const looks = { steps: 0, scanned: 0 };
  const events: EventStore = {
    ...store,
    scanAll: async (options, most) => {
      looks.steps += 1;
      const page = await store.scanAll(options, most);
      looks.scanned += page.scanned;
      return page;
    },
  };
  return { events, looks };
};

withEachEventStore((open) => {
  describe('The export of a tenant’s events', () => {
    it('holds one piece in memory and reads no further than it is consumed', async () => {
      const store = await open();
      await fillAuditLog(store, memoryKeyStore(), 'acme', 5000);
      const { events, looks } = counted(store);
      const pieces = exportOf(events).export('acme', {});
      const first = await pieces.next();
      expect(first.value).to.have.length.within(1, 512 * 2048);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(looks.steps).to.equal(1);
      await pieces.return();
    }).timeout(60_000);

    it('ends where the log ended when the export began', async () => {
      const store = await open();
      await store.append(
        'acme.x-1',
        'no_stream',
        Array.from({ length: 1500 }, () => event()),
      );
      let count = 0;
      for await (const piece of exportOf(store).export('acme', {})) {
        count += linesIn(piece).length;
        await store.append('acme.x-1', 'any', [event()]);
      }
      expect(count).to.equal(1500);
    });

    it('does not look complete when the process stops', async () => {
      const store = await open();
      await store.append(
        'acme.x-1',
        'no_stream',
        Array.from({ length: 1500 }, () => event()),
      );
      for (const query of [{}, { stream: 'acme.x-1' }]) {
        const eventExport = exportOf(store);
        const pieces = eventExport.export('acme', query);
        await pieces.next();
        eventExport.stop();
        const rest = await (async () => {
          for await (const _piece of pieces);
        })().then(
          () => 'ended',
          (error: Error) => error.message,
        );
        expect(rest).to.equal('the export was cut off');
      }
    });

    it('shows damaged texts as damaged in complete lines', async () => {
      const store = await open();
      const metadata = '{"broken';
      await store.append('acme.conversation-1', 'no_stream', [
        { ...event(), type: 'MessageSent', data: '{"body":"v1:acme/message-x:AAAA"}', metadata },
        { ...event(), type: 'MessageSent', data: '{"body":"v1:other/person-x:AAAA"}', metadata },
        { ...event(), type: 'MessageSent', data: '{"body":"not sealed"}', metadata },
        { ...event(), type: 'Whatever', data: '{\n"a":1}', metadata: '[1]' },
        { ...event(), type: 'Whatever', data: 'no JSON', metadata: '{}' },
      ]);
      const lines: string[] = [];
      for await (const piece of exportOf(store).export('acme', {})) lines.push(...linesIn(piece));
      expect(
        lines.map((line) => JSON.parse(line)).map(({ data, metadata: own }) => [data, own]),
      ).to.deep.equal([
        [{ body: '[erased]' }, null],
        [{ body: '[unreadable]' }, null],
        [{ body: '[unreadable]' }, null],
        [{ a: 1 }, null],
        [null, {}],
      ]);
      expect(lines.map((line) => JSON.parse(line).sealed.metadata)).to.deep.equal([
        metadata,
        metadata,
        metadata,
        '[1]',
        '{}',
      ]);
    });
  });
});

describe('The export of a small tenant’s events in a large log', () => {
  withEachEventStore((open) => {
    it('scans few events of other tenants', async function () {
      this.timeout(180_000);
      const store = await open();
      const mine = (stream: number) =>
        store.append(
          `small.x-${stream}`,
          'no_stream',
          Array.from({ length: 10 }, () => event()),
        );
      const theirs = async (count: number): Promise<void> => {
        for (let made = 0; made < count; made += 1000) {
          await store.append(
            `large.x-${made % 7}`,
            'any',
            Array.from({ length: 1000 }, () => event()),
          );
        }
      };
      await mine(1);
      await theirs(FOREIGN / 2);
      await mine(2);
      await theirs(FOREIGN / 2);
      const { events, looks } = counted(store);
      let found = 0;
      for await (const piece of exportOf(events).export('small', {})) found += linesIn(piece).length;
      expect(found).to.equal(20);
      // The memory store has no index, so that it scans all events; this shows that the count works.
      const isIndexed = this.test?.parent?.title.includes('SQLite') === true;
      if (isIndexed) {
        // Three steps, and the few events of the tenant that the first read finds.
        expect(looks.scanned).to.be.at.most(3 * STEP + 8);
        const page = await exportOf(events).page('small', {}, 20);
        expect(page.events).to.have.length(20);
        expect(looks.scanned).to.be.at.most(6 * STEP);
      } else expect(looks.scanned).to.be.at.least(FOREIGN);
    });

    it('scans each part of the log once when the events are evenly spread', async function () {
      this.timeout(180_000);
      const store = await open();
      const EACH = 5000;
      for (let nth = 0; nth < FOREIGN / EACH; nth += 1) {
        await store.append(
          'large.x-1',
          'any',
          Array.from({ length: EACH }, () => event()),
        );
        await store.append(`small.x-${nth % 3}`, 'any', [event()]);
      }
      const { events, looks } = counted(store);
      const found: string[] = [];
      for await (const piece of exportOf(events).export('small', {})) found.push(...linesIn(piece));
      expect(found).to.have.length(FOREIGN / EACH);
      const positions = found.map((line) => JSON.parse(line).position);
      expect(positions).to.deep.equal([...new Set(positions)].sort());
      const isIndexed = this.test?.parent?.title.includes('SQLite') === true;
      if (isIndexed) expect(looks.steps).to.be.at.most(FOREIGN / EACH + 1);
    });
  });
});
