import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Replay } from '../../application/audit/replay.ts';
import type { EventStore } from '../../application/ports/event-store.ts';
import { KeyRing, sealedKeyId } from '../../application/sealing.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { fillAuditLog } from '../support/audit-log.ts';
import { memoryKeyStore } from '../support/fakes.ts';
import { MASTER_KEY } from '../support/node.ts';
import { event } from './event-store-parts/helpers.ts';

/** Pages of an export are made ahead, in memory that is used again: what happens meanwhile. */
describe('Pages of lines that the SQLite event store makes ahead', function () {
  this.timeout(120_000);
  let folder: string;
  let store: EventStore;
  const keyStore = memoryKeyStore();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lines-ahead-'));
    store = openSqliteEventStore({ path: join(folder, 'events.db') });
    // Side by side in the log: pages of both are of the same positions.
    await Promise.all(['acme', 'other'].map((tenant) => fillAuditLog(store, keyStore, tenant, 7000, 40)));
    // So long that some are read one by one, and pages of them and of others are of very different sizes.
    for (let nth = 0; nth < 40; nth += 1) {
      const all = Array.from({ length: 50 }, (_, at) => {
        const x = '"\\é😀'.repeat((nth * 50 + at) % 7).padEnd(3900 + ((nth * 50 + at) % 200), '"');
        return { ...event(), data: JSON.stringify({ x }), metadata: '{"a":1}' };
      });
      await store.append(`big.x-${nth}`, 'no_stream', nth % 3 === 0 ? all : all.map(shortened));
    }
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const shortened = (one: ReturnType<typeof event>) => ({ ...one, data: '{"x":1}' });
  const exportOf = (tenant: string, events: EventStore = store, query = {}) =>
    new Replay({ events, catalogue, keys: new KeyRing(keyStore, MASTER_KEY) }).export(tenant, query);
  const whole = async (pieces: AsyncIterable<Uint8Array>): Promise<Buffer> => {
    const all: Uint8Array[] = [];
    for await (const piece of pieces) all.push(Buffer.from(piece));
    return Buffer.concat(all);
  };
  /** As reading the events gives them. */
  const plainly = async (tenant: string, query = {}): Promise<string> => {
    const { lines: _made, ...rest } = store;
    return (await whole(exportOf(tenant, rest, query))).toString('utf8');
  };
  const begun = async (tenant: string, pieces: number) => {
    const rest = exportOf(tenant);
    const first: Uint8Array[] = [];
    for (let nth = 0; nth < pieces; nth += 1) {
      const { value } = await rest.next();
      if (value !== undefined) first.push(Buffer.from(value));
    }
    return { first, rest };
  };

  it('are never another tenant’s, however many are exported at once', async () => {
    const tenants = ['acme', 'other', 'big', 'acme', 'nobody', 'other', 'big'];
    for (let round = 0; round < 2; round += 1) {
      const all = await Promise.all(tenants.map((tenant) => whole(exportOf(tenant))));
      for (const [nth, tenant] of tenants.entries())
        expect(all[nth]?.toString('utf8') === (await plainly(tenant)), tenant).to.equal(true);
    }
    expect(await plainly('nobody')).to.equal('');
    expect((await plainly('big')).split('\n')).to.have.length(2001);
  });

  it('go on at any place of one, also between the short and the long', async () => {
    const lines = (await plainly('big')).split('\n');
    for (const at of [0, 37, 49, 50, 511, 700, 1999]) {
      const after = store.parsePosition(JSON.parse(lines[at] ?? '').position);
      const rest = await whole(exportOf('big', store, { after }));
      expect(rest.toString('utf8') === lines.slice(at + 1).join('\n'), `${at}`).to.equal(true);
    }
  });

  it('do not show what was erased before they were handed out', async () => {
    await whole(exportOf('acme'));
    const before = (await plainly('acme')).split('\n');
    const last = before.findLast((line) => line.includes('"MessageSent"')) ?? '';
    const { body } = JSON.parse(JSON.parse(last).sealed.data);
    const { first, rest } = await begun('acme', 3);
    // By another node, whose keys are others.
    await new KeyRing(keyStore, MASTER_KEY).destroy(sealedKeyId(body));
    const text = Buffer.concat([...first, await whole(rest)]).toString('utf8');
    expect(text === (await plainly('acme'))).to.equal(true);
    const line = text.split('\n')[before.indexOf(last)] ?? '';
    expect(JSON.parse(line).data.body).to.equal('[erased]');
  });

  it('end where the log ended when it was asked, however it grows meanwhile', async () => {
    const expected = await plainly('acme');
    const { first, rest } = await begun('acme', 3);
    await fillAuditLog(store, keyStore, 'acme', 1500, 40);
    const text = Buffer.concat([...first, await whole(rest)]).toString('utf8');
    expect(text === expected).to.equal(true);
    const all = (await whole(exportOf('acme'))).toString('utf8');
    expect(all === (await plainly('acme'))).to.equal(true);
    expect(all.split('\n')).to.have.length(8501);
  });
});
