import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import fc from 'fast-check';
import type { BlobRef, BlobStore, ByteRange } from '../../application/ports/blob-store.ts';
import { rejection, untilPasses } from '../support/eventually.ts';

export interface BlobStoreHarness {
  /** Opens the same store again, like another process. */
  open(): Promise<BlobStore>;
  /** Number of stored files or documents that are not a complete blob. */
  leftovers(): Promise<number>;
  /** Begins a put at this time (ms) and abandons it, like a crashed process. */
  abandonPut(store: BlobStore, at: number): Promise<void>;
  dispose(): Promise<void>;
}

const newRef = (tenantId = 'acme'): BlobRef => ({ tenantId, id: randomUUID() });
const keyOf = ({ tenantId, id }: BlobRef): string => `${tenantId}/${id}`;
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const HOUR = 3_600_000;

/** The contract of every adapter of the blob store port (application/ports/blob-store.ts). */
export function blobStoreContract(name: string, start: () => Promise<BlobStoreHarness>): void {
  describe(`blob store contract: ${name}`, () => {
    let harness: BlobStoreHarness;
    let store: BlobStore;

    before(async () => {
      harness = await start();
      store = await harness.open();
    });
    after(async () => {
      await store?.close();
      await harness?.dispose();
    });

    const put = (ref: BlobRef, bytes: Uint8Array) => store.put(ref, Readable.from([bytes]));

    const read = async (ref: BlobRef, range?: ByteRange, from = store): Promise<Buffer | undefined> => {
      const blob = await from.open(ref, range);
      return blob === undefined ? undefined : buffer(blob.stream);
    };

    const sizeOf = async (ref: BlobRef, range?: ByteRange): Promise<number | undefined> => {
      const blob = await store.open(ref, range);
      blob?.stream.on('error', () => undefined).destroy();
      return blob?.size;
    };

    const listed = async (): Promise<Map<string, number>> => {
      const found = new Map<string, number>();
      for await (const { ref, at } of store.list()) found.set(`${ref.tenantId}/${ref.id}`, at);
      return found;
    };

    it('returns the stored bytes, their size and SHA-256', async () => {
      for (const size of [0, 1, 65_536, 261_120, 1_500_001]) {
        const [ref, bytes] = [newRef(), randomBytes(size)];
        expect(await put(ref, bytes)).to.deep.equal({ size, sha256: digest(bytes) });
        expect(await read(ref)).to.deep.equal(bytes);
        expect(await sizeOf(ref)).to.equal(size);
      }
    });

    it('shows a blob to another process once it is stored', async () => {
      const [ref, other] = [newRef(), await harness.open()];
      await put(ref, Buffer.from('here'));
      expect(String(await read(ref, undefined, other))).to.equal('here');
      await other.close();
    });

    it('finds nothing under an unused id', async () => {
      expect(await store.open(newRef())).to.equal(undefined);
    });

    it('separates tenants', async () => {
      const ref = newRef('acme');
      await put(ref, Buffer.from('of acme'));
      const theirs = { ...ref, tenantId: 'globex' };
      expect(await store.open(theirs)).to.equal(undefined);
      await store.delete(theirs);
      expect(String(await read(ref))).to.equal('of acme');
    });

    it('returns parts', async () => {
      const [ref, bytes] = [newRef(), randomBytes(600_000)];
      await put(ref, bytes);
      for (const [first, last] of [
        [0, 0],
        [599_999, 599_999],
        [261_119, 261_120],
        [100, 522_300],
        [0, 599_999],
      ] as const) {
        expect(await read(ref, { first, last })).to.deep.equal(bytes.subarray(first, last + 1));
      }
      expect(await sizeOf(ref, { first: 5, last: 9 }), 'of the whole').to.equal(600_000);
    });

    it('returns any part of any blob', async () => {
      const ref = newRef();
      const bytes = randomBytes(300_000);
      await put(ref, bytes);
      const ends = fc.tuple(fc.nat(bytes.length - 1), fc.nat(bytes.length - 1));
      await fc.assert(
        fc.asyncProperty(ends, async ([a, b]) => {
          const [first, last] = [Math.min(a, b), Math.max(a, b)];
          expect(await read(ref, { first, last })).to.deep.equal(bytes.subarray(first, last + 1));
        }),
        { numRuns: 25 },
      );
    });

    it('deletes a blob, and accepts a repeated deletion', async () => {
      const ref = newRef();
      await put(ref, Buffer.from('x'));
      await store.delete(ref);
      await store.delete(ref);
      expect(await store.open(ref)).to.equal(undefined);
      expect(await listed()).not.to.include.keys(`acme/${ref.id}`);
    });

    it('deletes only older blobs when given a time', async () => {
      const ref = newRef();
      await put(ref, Buffer.from('x'));
      await store.delete(ref, Date.now() - HOUR);
      expect(String(await read(ref))).to.equal('x');
      await store.delete(ref, Date.now() + HOUR);
      expect(await store.open(ref)).to.equal(undefined);
      expect(await harness.leftovers()).to.equal(0);
    });

    it('moves a blob, also onto another one, and updates its time', async () => {
      const [from, to] = [newRef(), newRef()];
      await put(to, Buffer.from('old'));
      await put(from, Buffer.from('new'));
      const moved = ((await listed()).get(keyOf(from)) ?? 0) + 20;
      await untilPasses(() => expect(Date.now()).to.be.greaterThan(moved));
      await store.move(from, to.id);
      expect(await store.open(from)).to.equal(undefined);
      expect(String(await read(to))).to.equal('new');
      const at = (await listed()).get(keyOf(to)) ?? 0;
      expect(at).to.be.within(moved - 10, Date.now() + 10);
      const all = await Array.fromAsync(store.list());
      expect(
        all.filter(({ ref }) => ref.id === to.id),
        'the replaced blob',
      ).to.have.length(1);
      expect(await harness.leftovers()).to.equal(0);
      await store.delete(to);
      expect(await store.open(to)).to.equal(undefined);
    });

    it('lists every blob with its time', async () => {
      const began = Date.now();
      const refs = [newRef(), newRef('globex'), newRef('a_b_1')];
      for (const ref of refs) await put(ref, randomBytes(10));
      const found = await listed();
      for (const ref of refs) {
        expect(found.get(keyOf(ref)), keyOf(ref)).to.be.within(began - 2000, Date.now() + 2000);
      }
    });

    for (const pieces of [0, 1, 30]) {
      it(`stores nothing of a source that fails after ${pieces} chunks`, async () => {
        const ref = newRef();
        const failure = new Error('the client went away');
        const source = Readable.from(
          (async function* () {
            for (let i = 0; i < pieces; i += 1) yield randomBytes(65_536);
            throw failure;
          })(),
        );
        expect(await rejection(store.put(ref, source))).to.equal(failure);
        expect(await store.open(ref)).to.equal(undefined);
        expect(await listed()).not.to.include.keys(keyOf(ref));
        await untilPasses(async () => expect(await harness.leftovers()).to.equal(0));
      });
    }

    it('stores nothing of a source that is destroyed midway', async () => {
      const ref = newRef();
      const source = new Readable({ read: () => undefined });
      source.push(randomBytes(500_000));
      const failed = rejection(store.put(ref, source));
      setImmediate(() => source.destroy());
      await failed;
      expect(await store.open(ref)).to.equal(undefined);
      await untilPasses(async () => expect(await harness.leftovers()).to.equal(0));
    });

    it('stores nothing of many sources aborted at different moments', async () => {
      await Promise.all(
        Array.from({ length: 12 }, async (_, i) => {
          const source = new Readable({ read: () => undefined });
          const failed = rejection(store.put(newRef(), source));
          for (let piece = 0; piece < 10; piece += 1) {
            source.push(randomBytes(100_000));
            await new Promise((resolve) => setTimeout(resolve, 1));
            if (piece === Math.floor(i / 2) + 1) source.destroy(new Error('cut off'));
          }
          await failed;
        }),
      );
      expect(await harness.leftovers()).to.equal(0);
    });

    it('hides incomplete blobs', async () => {
      const ref = newRef();
      const source = new Readable({ read: () => undefined });
      const done = store.put(ref, source);
      source.push(randomBytes(700_000));
      await untilPasses(async () => expect(await harness.leftovers()).to.be.greaterThan(0));
      expect(await store.open(ref)).to.equal(undefined);
      expect(await listed()).not.to.include.keys(keyOf(ref));
      source.push(null);
      await done;
      expect((await read(ref))?.length).to.equal(700_000);
      expect(await harness.leftovers()).to.equal(0);
    });

    it('removes leftovers of a crashed process, and nothing newer', async () => {
      const [ref, kept] = [newRef(), randomBytes(10)];
      await put(ref, kept);
      await harness.abandonPut(store, Date.now() - 2 * HOUR);
      await harness.abandonPut(store, Date.now());
      const both = await harness.leftovers();
      await store.tidy(Date.now() - HOUR);
      const one = await harness.leftovers();
      expect(one).to.be.within(1, both - 1);
      await store.tidy(Date.now() + HOUR);
      expect(await harness.leftovers()).to.equal(0);
      expect(await read(ref)).to.deep.equal(kept);
    });

    it('stores many blobs concurrently, each with its own bytes', async () => {
      const blobs = Array.from({ length: 12 }, () => ({ ref: newRef(), bytes: randomBytes(100_000) }));
      await Promise.all(blobs.map(({ ref, bytes }) => put(ref, bytes)));
      for (const { ref, bytes } of blobs) expect(await read(ref)).to.deep.equal(bytes);
    });

    it('refuses invalid references', async () => {
      const { id } = newRef();
      for (const ref of [
        { tenantId: 'acme', id: '../../etc/passwd' },
        { tenantId: 'acme', id: '' },
        { tenantId: 'acme', id: `${id}/x` },
        { tenantId: 'acme', id: id.toUpperCase().replace(/^./, 'A') },
        { tenantId: '..', id },
        { tenantId: '', id },
        { tenantId: 'a/b', id },
        { tenantId: 'acme\0', id },
        { tenantId: '.incoming', id },
      ]) {
        for (const work of [
          () => store.open(ref),
          () => put(ref, Buffer.from('x')),
          () => store.delete(ref),
          () => store.move(ref, newRef().id),
        ]) {
          expect(await rejection(work())).to.be.instanceOf(TypeError);
        }
      }
      expect(await rejection(store.move(newRef(), '../x'))).to.be.instanceOf(TypeError);
    });

    it('answers a ping', () => store.ping());
  });
}
