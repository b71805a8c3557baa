import type {
  HeadStore,
  LastRevision,
  SignedHead,
  WaitingHead,
} from '../../application/ports/audit-heads.ts';
import { latest, type Position } from '../../application/ports/event-store.ts';

/** Last revisions of streams and signed heads in memory, for tests. */
export const memoryHeadStore = (): HeadStore => {
  const heads = new Map<string, LastRevision>();
  /** Position of the last event of each owner. */
  const grown = new Map<string, Position>();
  const signed = new Map<string, Position>();
  const waiting: WaitingHead[] = [];
  let position: Position | undefined;
  let last: (LastRevision & { readonly position: Position }) | undefined;
  let seq = 0;
  return {
    position: async () => position,
    lastNoted: async () => last && { stream: last.stream, revision: last.revision, hash: last.hash },
    merge: async (noted, after, to) => {
      if ((position ?? '') < (after ?? '')) return false;
      for (const [stream, { revision, hash, position: at }] of noted) {
        const owner = stream.slice(0, stream.indexOf('.'));
        if ((heads.get(stream)?.revision ?? -1) < revision) heads.set(stream, { stream, revision, hash });
        grown.set(owner, latest(grown.get(owner), at) ?? at);
        if (last === undefined || last.position < at) last = { stream, revision, hash, position: at };
      }
      position = latest(position, to);
      return true;
    },
    reset: async (from) => {
      if (last?.stream !== from.stream || last.revision !== from.revision || last.hash !== from.hash) return;
      for (const each of [heads, grown, signed]) each.clear();
      position = undefined;
      last = undefined;
    },
    read: async (prefix, each) => {
      const found = [...heads.values()].filter(({ stream }) => stream.startsWith(prefix));
      const sorted = found.toSorted((a, b) => Buffer.compare(Buffer.from(a.stream), Buffer.from(b.stream)));
      const read = position;
      if (sorted.length > 0) await each(sorted);
      return read;
    },
    unsigned: async () =>
      [...grown].filter(([owner, at]) => at > (signed.get(owner) ?? '')).map(([owner]) => owner),
    signed: async (owner, at) => void signed.set(owner, latest(signed.get(owner), at) ?? at),
    enqueue: async (head: SignedHead, most) => {
      seq += 1;
      waiting.push({ seq, head });
      const own = waiting.filter((one) => one.head.tenant_id === head.tenant_id);
      const dropped = own.slice(0, Math.max(0, own.length - most));
      for (const one of dropped) waiting.splice(waiting.indexOf(one), 1);
      return dropped.length;
    },
    waiting: async (limit, after) => waiting.filter((one) => one.seq > after).slice(0, limit),
    delivered: async (which) => {
      const at = waiting.findIndex((one) => one.seq === which);
      if (at >= 0) waiting.splice(at, 1);
    },
    close: async () => undefined,
  };
};
