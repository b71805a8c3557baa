import { CHAIN_START, type ChainLink, type EventCodec, metadataSchema } from '../core/events/event-codec.ts';
import { chainHash } from '../core/events/hash-chain.ts';
import { parseStreamName } from '../core/events/stream-name.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position, StoredEvent } from '../ports/event-store.ts';

/** A finding of a check. Contains no content of events or documents. */
export interface Finding {
  readonly kind: string;
  /** The subject: an event as `<stream>@<revision>`, a document, a key, a file. */
  readonly what: string;
  readonly message: string;
}

/** Matches the hash only where the codec writes it: a hash that was moved within the metadata must not match. */
const HASH = /(?<=\},)"hash":"([0-9a-f]{64})",(?="(?:occurred_at|impersonated_by)":")/;

/**
 * Checks the log in order: positions, revisions, the hash chain of each stream (docs/audit-format.md), metadata, and
 * whether this version of the code can decode each event. Reports the first fault of each stream.
 */
export class LogCheck extends WithDeps<{
  readonly codec: EventCodec;
  /** Whether a position follows `before` without a gap; true if the store cannot tell. */
  readonly isNext: (before: Position | undefined, position: Position) => boolean;
}> {
  readonly #lastRevisions = new Map<string, ChainLink>();
  readonly #faulty = new Set<string>();
  #position: Position | undefined;
  #events = 0;

  get events(): number {
    return this.#events;
  }

  get streams(): number {
    return this.#lastRevisions.size;
  }

  get position(): Position | undefined {
    return this.#position;
  }

  lastRevision(stream: string): ChainLink | undefined {
    return this.#lastRevisions.get(stream);
  }

  /** Checks the next event of the log. */
  take(event: StoredEvent): Finding[] {
    const { stream, revision, position } = event;
    const name = `${stream}@${revision}`;
    const findings: Finding[] = [];
    if (this.#position !== undefined && position <= this.#position) {
      const message = `Its position ${position} is not after ${this.#position}.`;
      findings.push({ kind: 'out_of_order', what: name, message });
    } else if (!this.deps.isNext(this.#position, position)) {
      const message = `Events are missing between ${this.#position ?? 'the beginning'} and ${position}.`;
      findings.push({ kind: 'missing_event', what: `the log before ${name}`, message });
    }
    this.#position = position;
    this.#events += 1;
    const last = this.#lastRevisions.get(stream) ?? CHAIN_START;
    const stated = HASH.exec(event.metadata)?.[1] ?? '';
    this.#lastRevisions.set(stream, { revision, hash: stated });
    if (this.#faulty.has(stream)) return findings;
    const fault = this.#faultOf(event, last, name);
    if (fault !== undefined) {
      this.#faulty.add(stream);
      findings.push(fault);
    }
    return findings;
  }

  #faultOf(event: StoredEvent, last: ChainLink, name: string): Finding | undefined {
    const { stream, revision, id, type, data, metadata } = event;
    const expected = last.revision + 1;
    if (revision > expected) {
      const what = `${stream}@${expected}`;
      return { kind: 'missing_event', what, message: `It is missing: ${name} comes instead.` };
    }
    if (revision < expected) return { kind: 'repeated_event', what: name, message: 'It is repeated.' };
    const match = HASH.exec(metadata);
    const previous = /"prev_hash":"([0-9a-f]{64})"/.exec(metadata)?.[1] ?? '';
    const rest = match === null ? metadata : metadata.replace(match[0], '');
    const digest = chainHash(previous, stream, revision, id, type, data, rest);
    if (match === null || digest !== match[1]) {
      return { kind: 'changed_event', what: name, message: 'It does not match its hash.' };
    }
    if (previous !== last.hash) {
      const what = revision === 0 ? name : `${stream}@${last.revision}`;
      return { kind: 'changed_event', what, message: `${name} is chained to another hash.` };
    }
    return this.#unreadable(event, name);
  }

  #unreadable(event: StoredEvent, name: string): Finding | undefined {
    try {
      this.deps.codec.decode(event);
      const { tenant_id } = metadataSchema.parse(JSON.parse(event.metadata));
      if (tenant_id === parseStreamName(event.stream).tenantId) return undefined;
      return { kind: 'foreign_event', what: name, message: 'Its metadata names another tenant.' };
    } catch (error) {
      const message = error instanceof Error ? error.message.split('\n')[0] : undefined;
      return { kind: 'unreadable_event', what: name, message: message ?? 'It cannot be read.' };
    }
  }
}
