import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { KeyStore } from '../../application/ports/key-store.ts';

export interface KeyStoreHarness {
  /** Opens the same store again, like another process. */
  open(): Promise<KeyStore>;
  dispose(): Promise<void>;
  /** False for a server, such as FerretDB, whose conditional updates are not atomic. */
  readonly isAtomic: boolean;
}

const newKey = () => ({ id: `acme/message-${randomUUID()}`, wrapped: new Uint8Array(randomBytes(60)) });

/** The contract of every adapter of the key store port (application/ports/key-store.ts). */
export function keyStoreContract(name: string, start: () => Promise<KeyStoreHarness>): void {
  describe(`key store contract: ${name}`, () => {
    let harness: KeyStoreHarness;
    let store: KeyStore;

    before(async () => {
      harness = await start();
      store = await harness.open();
    });
    after(async () => {
      await store?.close();
      await harness?.dispose();
    });

    it('returns keys in the order of the request, also to another process', async () => {
      const [a, b] = [newKey(), newKey()];
      await store.put([a, b]);
      const other = await harness.open();
      for (const each of [store, other]) {
        const found = await each.getMany([b.id, 'acme/none', a.id, b.id]);
        expect(found).to.deep.equal([b.wrapped, undefined, a.wrapped, b.wrapped]);
      }
      await other.close();
    });

    it('accepts empty lists', async () => {
      await store.put([]);
      expect(await store.getMany([])).to.deep.equal([]);
    });

    it('keeps an existing key, and stores the others of the batch', async () => {
      const [old, before, after] = [newKey(), newKey(), newKey()];
      await store.put([old]);
      await store.put([before, { ...old, wrapped: newKey().wrapped }, after]);
      const found = await store.getMany([before.id, old.id, after.id]);
      expect(found).to.deep.equal([before.wrapped, old.wrapped, after.wrapped]);
    });

    it('destroys a key for good', async () => {
      const [gone, kept] = [newKey(), newKey()];
      await store.put([gone, kept]);
      await store.destroy(gone.id);
      await store.destroy(gone.id);
      await store.put([gone]);
      expect(await store.getMany([gone.id, kept.id])).to.deep.equal(['destroyed', kept.wrapped]);
      const other = await harness.open();
      expect(await other.getMany([gone.id])).to.deep.equal(['destroyed']);
      await other.close();
    });

    it('destroys an unknown key, so that it cannot be stored', async () => {
      const key = newKey();
      await store.destroy(key.id);
      await store.put([key]);
      expect(await store.getMany([key.id])).to.deep.equal(['destroyed']);
    });

    it('keeps one of many keys stored concurrently under one id', async () => {
      const { id } = newKey();
      const candidates = Array.from({ length: 8 }, () => newKey().wrapped);
      await Promise.all(candidates.map((wrapped) => store.put([{ id, wrapped }])));
      const [first] = await store.getMany([id]);
      expect(candidates).to.deep.include(first);
      await store.put([newKey()]);
      expect(await store.getMany([id])).to.deep.equal([first]);
    });

    it('destroys a key stored at the same moment', async () => {
      const keys = Array.from({ length: 10 }, newKey);
      await Promise.all(keys.flatMap((key) => [store.put([key]), store.destroy(key.id)]));
      const found = await store.getMany(keys.map((key) => key.id));
      expect(found).to.deep.equal(keys.map(() => 'destroyed'));
    });

    it('lists every row, also of destroyed keys', async () => {
      const [kept, gone] = [newKey(), newKey()];
      await store.put([kept, gone, ...Array.from({ length: 600 }, newKey)]);
      await store.destroy(gone.id);
      const listed = new Map<string, unknown>();
      for await (const { id, wrapped } of store.list()) {
        expect(listed.has(id)).to.equal(false);
        listed.set(id, wrapped);
      }
      expect(listed.size).to.be.at.least(602);
      expect(listed.get(kept.id)).to.deep.equal(kept.wrapped);
      expect(listed.get(gone.id)).to.equal('destroyed');
    });

    it('replaces a wrapped key only while the row holds the expected one', async () => {
      const [key, other] = [newKey(), newKey()];
      await store.put([key, other]);
      const next = newKey().wrapped;
      expect(await store.replace(key.id, key.wrapped, next)).to.equal(true);
      expect(await store.replace(key.id, key.wrapped, newKey().wrapped)).to.equal(false);
      const second = await harness.open();
      expect(await second.getMany([key.id, other.id])).to.deep.equal([next, other.wrapped]);
      await second.close();
    });

    it('does not replace a destroyed or unknown row', async () => {
      const [gone, never] = [newKey(), newKey()];
      await store.put([gone]);
      await store.destroy(gone.id);
      for (const key of [gone, never]) {
        expect(await store.replace(key.id, key.wrapped, newKey().wrapped)).to.equal(false);
      }
      expect(await store.getMany([gone.id, never.id])).to.deep.equal(['destroyed', undefined]);
    });

    it('lets one of many concurrent replacements of the same row win', async function () {
      if (!harness.isAtomic) this.skip();
      const key = newKey();
      await store.put([key]);
      const candidates = Array.from({ length: 8 }, () => newKey().wrapped);
      const done = await Promise.all(candidates.map((next) => store.replace(key.id, key.wrapped, next)));
      expect(done.filter(Boolean)).to.have.length(1);
      const [present] = await store.getMany([key.id]);
      expect(present).to.deep.equal(candidates[done.indexOf(true)]);
    });

    it('stores many keys in one call', async () => {
      const keys = Array.from({ length: 1_000 }, newKey);
      await store.put(keys);
      expect(await store.getMany(keys.map((key) => key.id))).to.deep.equal(keys.map((key) => key.wrapped));
    });

    it('answers a ping', async () => {
      await store.ping();
    });
  });
}
