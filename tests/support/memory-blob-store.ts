import { Readable } from 'node:stream';
import type { BlobRef, BlobStore } from '../../application/ports/blob-store.ts';
import { checkRef, guarded, measure } from '../../infrastructure/blob-store/refs.ts';

interface Kept {
  readonly ref: BlobRef;
  readonly bytes: Buffer;
  /** Time (ms) of the put or move. */
  readonly at: number;
}

interface MemoryBlobStore extends BlobStore {
  /** Puts that have not ended: when they began (ms). */
  readonly incoming: Map<symbol, number>;
  readonly everything: () => readonly Buffer[];
}

/** Blob store of tests: fulfils the contract in memory. @param now wall clock (ms) */
export const memoryBlobStore = (now: () => number): MemoryBlobStore => {
  const incoming = new Map<symbol, number>();
  const blobs = new Map<string, Kept>();
  const keyOf = (ref: BlobRef): string => {
    checkRef(ref);
    return `${ref.tenantId}/${ref.id}`;
  };
  const keep = (ref: BlobRef, bytes: Buffer): void => {
    blobs.set(keyOf(ref), { ref, bytes, at: now() });
  };
  return {
    put: async (ref, source) => {
      keyOf(ref);
      guarded(source);
      const parts: Buffer[] = [];
      const { add, total } = measure();
      const own = Symbol('put');
      incoming.set(own, now());
      try {
        for await (const part of source) {
          const bytes = Buffer.from(part);
          add(bytes);
          parts.push(bytes);
        }
        keep(ref, Buffer.concat(parts));
      } finally {
        incoming.delete(own);
      }
      return total();
    },
    move: async (from, toId) => {
      const found = blobs.get(keyOf(from));
      const to = { ...from, id: toId };
      const target = keyOf(to);
      if (target === keyOf(from)) return;
      if (found === undefined) throw new Error(`${keyOf(from)} does not exist`);
      blobs.delete(keyOf(from));
      keep(to, found.bytes);
    },
    open: async (ref, range) => {
      const bytes = blobs.get(keyOf(ref))?.bytes;
      if (bytes === undefined) return undefined;
      const part = range === undefined ? bytes : bytes.subarray(range.first, range.last + 1);
      return { size: bytes.length, stream: Readable.from(part.length === 0 ? [] : [part]) };
    },
    delete: async (ref, before = Number.POSITIVE_INFINITY) => {
      const key = keyOf(ref);
      if ((blobs.get(key)?.at ?? before) < before) blobs.delete(key);
    },
    list: async function* () {
      for (const { ref, at } of [...blobs.values()]) yield { ref, at };
    },
    tidy: async (before) => {
      for (const [own, at] of incoming) if (at < before) incoming.delete(own);
    },
    ping: async () => undefined,
    close: async () => undefined,
    incoming,
    everything: () => [...blobs.values()].map(({ bytes }) => bytes),
  };
};
