import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { KeyPages, SLOTS, slotOf } from '../../../../application/core/privacy/key-pages.ts';
import { KeyRing } from '../../../../application/core/privacy/key-ring.ts';
import { StoreUnavailable } from '../../../../application/ports/event-store.ts';
import type { KeyStore } from '../../../../application/ports/key-store.ts';
import { openSqliteKeyStore } from '../../../../infrastructure/key-store/sqlite.ts';
import { memoryKeyStore } from '../../../support/fakes.ts';
import { findIn } from '../../../support/files.ts';
import { MASTER_KEY } from '../../../support/node.ts';

const ring = (store: KeyStore): KeyRing => new KeyRing(store, MASTER_KEY);

/** New keys, as full ids. */
const newKeys = async (keys: KeyRing, count: number): Promise<string[]> => {
  const ids: string[] = [];
  while (ids.length < count) ids.push(`acme/${await keys.newTextKey('acme')}`);
  return ids;
};

describe('Keys from pages', () => {
  it('are all different, and open on another node what was sealed with them', async () => {
    const store = memoryKeyStore();
    const [here, there] = [ring(store), ring(store)];
    const ids = await newKeys(here, SLOTS * 20);
    expect(new Set(ids).size).to.equal(ids.length);
    const sealed = ids.slice(-300).map((id) => here.seal(id, `text of ${id}`));
    await there.load(ids.slice(-300));
    for (const [i, text] of sealed.entries()) {
      expect(there.openLoaded(text)).to.equal(`text of ${ids.at(i - 300)}`);
    }
    // Seals of equal texts differ by their nonce, so the keys are compared too.
    const [one, two] = ids.slice(-2);
    expect(() => there.openLoaded(sealed.at(-1)?.replace(two ?? '', one ?? '') ?? '')).to.throw();
  });

  it('are on disk before they are used', async () => {
    const store = memoryKeyStore();
    const held = Promise.withResolvers<void>();
    const slow: KeyStore = {
      ...store,
      put: async (rows) => {
        await held.promise;
        await store.put(rows);
      },
    };
    const taken = Promise.resolve(ring(slow).newTextKey('acme'));
    let given = false;
    void taken.then(() => {
      given = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(given).to.equal(false);
    held.resolve();
    const id = `acme/${await taken}`;
    const other = ring(store);
    await other.load([id]);
    expect(other.has(id)).to.equal(true);
  });

  it('need one write for many keys', async () => {
    const store = memoryKeyStore();
    let puts = 0;
    const counted: KeyStore = {
      ...store,
      put: (rows) => {
        puts += 1;
        return store.put(rows);
      },
    };
    await newKeys(ring(counted), SLOTS * 16);
    expect(puts).to.be.at.most(4);
  });

  it('are refused while the store is unavailable, and issued again once it is available', async () => {
    const store = memoryKeyStore();
    let gone = true;
    const failing: KeyStore = {
      ...store,
      put: (rows) => (gone ? Promise.reject(new StoreUnavailable('gone')) : store.put(rows)),
    };
    const keys = ring(failing);
    const refused = await Promise.resolve(keys.newTextKey('acme')).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(StoreUnavailable);
    gone = false;
    expect(await newKeys(keys, SLOTS * 9)).to.have.length(SLOTS * 9);
    // A failed write in the background is reported only once the last page is used up.
    gone = true;
    const rest = await newKeys(keys, SLOTS).catch((error: unknown) => error);
    expect(rest).to.be.an('array');
  });

  it('are destroyed one by one on every node, also concurrently on one page', async () => {
    const store = memoryKeyStore();
    const [here, there] = [ring(store), ring(store)];
    const ids = await newKeys(here, 40);
    const sealed = ids.map((id) => here.seal(id, `text of ${id}`));
    const gone = ids.filter((_, i) => i % 2 === 0);
    await Promise.all(gone.map((id, i) => (i % 2 === 0 ? here : there).destroy(id)));
    await here.destroy(gone[0] ?? '');
    const fresh = ring(store);
    for (const [i, text] of sealed.entries()) {
      expect(await fresh.open(text), ids[i]).to.equal(i % 2 === 0 ? undefined : `text of ${ids[i]}`);
    }
    expect(fresh.seal(gone[1] ?? '', 'again')).to.match(/:$/);
  });

  it('count as destroyed when their page is missing', async () => {
    const [id = ''] = await newKeys(ring(memoryKeyStore()), 1);
    const empty = ring(memoryKeyStore());
    await empty.load([id]);
    expect(empty.seal(id, 'text')).to.equal(`v1:${id}:`);
    await empty.destroy(id);
  });

  it('are wiped when another page of the same load cannot be read', async () => {
    const store = memoryKeyStore();
    await newKeys(ring(store), 1);
    const opened: Buffer[] = [];
    const pages = new KeyPages(
      { ...store, getMany: async (ids) => ids.map(() => new Uint8Array(1)) },
      {
        wrap: (_context, plain) => plain,
        unwrap: () => {
          if (opened.length === 2) throw new Error('it was changed');
          const page = Buffer.alloc(SLOTS * 32, 7);
          opened.push(page);
          return page;
        },
      },
    );
    expect(
      String(await pages.load(['a', 'b', 'c'].map((page) => ({ page, slot: 0 }))).catch(String)),
    ).to.contain('it was changed');
    expect(opened.map((page) => page.every((byte) => byte === 0))).to.deep.equal([true, true]);
  });

  it('leave nothing of a destroyed key in the files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'key-pages-'));
    const path = join(folder, 'keys.db');
    const store = await openSqliteKeyStore({ path });
    try {
      const keys = ring(store);
      const ids = await newKeys(keys, SLOTS + 5);
      const slot = slotOf(ids[3] ?? '');
      const [before] = await store.getMany([`page:${slot?.page}`]);
      if (!(before instanceof Uint8Array)) throw new Error('the page is not there');
      const piece = (from: number): Buffer => Buffer.from(before.subarray(from, from + 40));
      const pieces = { start: piece(0), middle: piece(2000), end: piece(before.length - 40) };
      expect(await findIn(folder, pieces)).to.have.length.at.least(3);
      await keys.destroy(ids[3] ?? '');
      expect(await findIn(folder, pieces)).to.deep.equal([]);
      const other = ring(store);
      await other.load(ids);
      expect(other.openLoaded(keys.seal(ids[4] ?? '', 'kept'))).to.equal('kept');
    } finally {
      await store.close();
      await rm(folder, { recursive: true });
    }
  });

  it('are recognised by the form of their ids', () => {
    const page = '01234567-89ab-4cde-8f01-23456789abcd';
    expect(slotOf(`acme/message-${page}.5`)).to.deep.equal({ page, slot: 5 });
    for (const id of [
      `acme/message-${page}`,
      `acme/person-${page}.5`,
      `acme/message-${page}.${SLOTS}`,
      `acme/message-${page}.1234`,
      `acme/message-${page}.-1`,
      `acme/person-x/message-${page}.5x`,
    ]) {
      expect(slotOf(id), id).to.equal(undefined);
    }
  });

  it('are recognised exactly as by a regular expression', () => {
    const form = /\/message-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{1,3})$/;
    const part = fc.constantFrom(
      'acme',
      '',
      '/message-',
      '/',
      '.',
      '-',
      '5',
      '127',
      '128',
      '007',
      '\n',
      'é',
      '٣',
    );
    const uuid = fc.uuid();
    const near = fc
      .tuple(
        part,
        fc.constantFrom('/message-', 'message-', '/message', '/Message-'),
        uuid,
        fc.nat(1100),
        part,
      )
      .map(([before, word, page, slot, after]) => `${before}${word}${page}.${slot}${after}`);
    const changed = fc
      .tuple(uuid, fc.nat(60), fc.nat(1), fc.oneof(part, fc.constantFrom('g', 'F', '`', ':', '/', '\0')))
      .map(([page, at, cut, put]) => {
        const id = `acme/message-${page}.12`;
        return id.slice(0, at) + put + id.slice(at + cut);
      });
    let told = 0;
    fc.assert(
      fc.property(fc.oneof(near, changed, fc.string()), (id) => {
        const [, page, slot] = form.exec(id) ?? [];
        const expected =
          page === undefined || Number(slot) >= SLOTS ? undefined : { page, slot: Number(slot) };
        if (expected !== undefined) told += 1;
        expect(slotOf(id), id).to.deep.equal(expected);
      }),
      { numRuns: 3000 },
    );
    expect(told).to.be.greaterThan(50);
  });
});
