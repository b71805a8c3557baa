import { hash } from 'node:crypto';
import type { LastRevision } from '../../ports/audit-heads.ts';
import { RootHash } from '../head.ts';
import { type Fault, Faulty, type Verdict } from './fault.ts';
import type { GivenHead } from './heads.ts';
import { type ExportedEvent, eventOf } from './line.ts';
import { type GoodEvent, goodEventOf } from './quick-line.ts';

interface LastLine {
  revision: number;
  hash: string;
  line: number;
}

type EventPlace = Pick<ExportedEvent, 'position' | 'stream' | 'revision'>;

const START = '0'.repeat(64);
const HASH = '"hash":"';
const PREVIOUS = '"prev_hash":"';
const HEX = /^[0-9a-f]{64}$/;
const AFTER_HASH = ['","occurred_at":"', '","impersonated_by":"'];

/**
 * Checks the chains of an export line by line (docs/audit-format.md, "Checks"). Keeps only the last revision of each
 * stream.
 */
export class Verifier {
  readonly #heads: readonly GivenHead[];
  readonly #strict: boolean;
  readonly #lastLines = new Map<string, LastLine>();
  #sorted: string[] = [];
  #tenant: string | undefined;
  #line = 0;
  #events = 0;
  #position = '';
  #nextHead = 0;
  #covered = 0;

  /**
   * @param heads with checked signatures, of one tenant, in order of position
   * @param strict treats events after the last head, if there is one, as a fault
   */
  constructor(heads: readonly GivenHead[], { strict = false }: { readonly strict?: boolean } = {}) {
    this.#heads = heads;
    this.#strict = strict;
    this.#tenant = heads[0]?.head.tenant_id;
  }

  /** Checks the next line, in UTF-8 without line feed; undefined for invalid UTF-8. @throws {Faulty} */
  take(line: Buffer | undefined): void {
    this.#line += 1;
    const event = line && (goodEventOf(line) ?? eventOf(line.toString('utf8')));
    if (event === undefined) {
      throw new Faulty('unreadable_line', `Line ${this.#line} is not an event.`, { line: this.#line });
    }
    this.#passHeads(event);
    this.#follow(event);
    this.#events += 1;
  }

  /** Checks the text after the last line feed. @throws {Faulty} */
  takeRest(rest: string): void {
    if (rest === '') return;
    const line = this.#line + 1;
    throw new Faulty('unreadable_line', `The export is cut off in the middle of line ${line}.`, { line });
  }

  /** @throws {Faulty} */
  end(): Verdict {
    this.#passHeads(undefined);
    return this.verdict(null);
  }

  verdict(fault: Fault | null): Verdict {
    const head = this.#heads[this.#nextHead - 1]?.head;
    return {
      verified: fault === null,
      fault,
      tenant_id: this.#tenant ?? null,
      events: this.#events,
      streams: this.#lastLines.size,
      head: head === undefined ? null : { position: head.position, signed_at: head.signed_at },
      not_covered: this.#events - this.#covered,
    };
  }

  #follow(event: GoodEvent | ExportedEvent): void {
    const { position, stream, revision } = event;
    const name = `${stream}@${revision}`;
    const at = { line: this.#line, stream, revision };
    this.#tenant ??= copied(stream.split('.', 1)[0] ?? '');
    if (!stream.startsWith(`${this.#tenant}.`)) {
      throw new Faulty('foreign_event', `${name} is not of the tenant ${this.#tenant}.`, at);
    }
    if (position <= this.#position) {
      throw new Faulty('out_of_order', `${name} comes after an event of a later or the same position.`, at);
    }
    this.#position = position;
    const last = this.#lastLines.get(stream);
    const expected = (last?.revision ?? -1) + 1;
    if (revision > expected) {
      const missing = { ...at, revision: expected };
      throw new Faulty('missing_event', `${stream}@${expected} is missing: ${name} comes instead.`, missing);
    }
    if (revision < expected) throw new Faulty('repeated_event', `${name} is repeated.`, at);
    const digest = 'hash' in event ? event.hash : this.#checkHash(event, name);
    const previous = 'hash' in event ? event.previous : previousIn(event.metadata);
    this.#checkLink(event, previous, last, name);
    if ('viewAgrees' in event && !event.viewAgrees) {
      throw new Faulty('changed_view', `The view of ${name} does not match the stored event.`, at);
    }
    if (last === undefined) this.#lastLines.set(copied(stream), { revision, hash: digest, line: this.#line });
    else Object.assign(last, { revision, hash: digest, line: this.#line });
  }

  #checkHash({ stream, revision, id, type, data, metadata }: ExportedEvent, name: string): string {
    const at = metadata.indexOf(HASH);
    const end = at + HASH.length + START.length;
    const stated = metadata.slice(at + HASH.length, end);
    const rest = metadata.slice(0, at) + metadata.slice(end + 2);
    const previous = previousIn(metadata);
    const isThere = HEX.test(stated) && HEX.test(previous) && isAtItsPlace(metadata, at, end);
    const lines = [previous, stream, revision, id, type, data, rest];
    const digest = isThere ? hash('sha256', lines.join('\n'), 'hex') : '';
    if (isThere && digest === stated) return digest;
    const where = { line: this.#line, stream, revision };
    throw new Faulty('changed_event', `${name} was changed: it does not match its hash.`, where);
  }

  /** Each event matches its own hash, so a wrong link means that the earlier event was changed and hashed again. */
  #checkLink(event: EventPlace, previous: string, last: LastLine | undefined, name: string): void {
    if (previous === (last?.hash ?? START)) return;
    const { stream, revision } = event;
    if (last === undefined) {
      const at = { line: this.#line, stream, revision };
      throw new Faulty('changed_event', `${name} was changed: it does not begin its stream.`, at);
    }
    const at = { line: last.line, stream, revision: last.revision };
    const before = `${stream}@${last.revision}`;
    throw new Faulty(
      'changed_event',
      `${before} was changed and given a new hash: ${name} is chained to another hash.`,
      at,
    );
  }

  /** Checks a head against the streams read so far, before the first event after its position or at the end. */
  #passHeads(event: EventPlace | undefined): void {
    for (let given = this.#heads[this.#nextHead]; given !== undefined; given = this.#heads[this.#nextHead]) {
      if (event !== undefined && event.position <= given.head.position) return;
      this.#checkRoot(given);
      this.#nextHead += 1;
      this.#covered = this.#events;
    }
    if (event === undefined || !this.#strict || this.#heads.length === 0) return;
    const { stream, revision } = event;
    const at = { line: this.#line, stream, revision };
    throw new Faulty(
      'old_head',
      `${stream}@${revision} and the following events came after the newest head.`,
      at,
    );
  }

  #checkRoot({ head, list }: GivenHead): void {
    if (this.#sorted.length !== this.#lastLines.size) this.#sorted = inByteOrder([...this.#lastLines.keys()]);
    const root = new RootHash();
    for (let at = 0; at < this.#sorted.length; at += 1000) {
      root.add(this.#sorted.slice(at, at + 1000).map((stream) => this.#lastRevisionOf(stream)));
    }
    if (root.digest() === head.root) return;
    if (list !== undefined) this.#nameDifference(list);
    const before = this.#heads[this.#nextHead - 1]?.head;
    const since =
      before === undefined ? '' : ` The events up to the head at position ${before.position} are unchanged.`;
    throw new Faulty(
      'root_mismatch',
      `The events up to position ${head.position} are not those that were signed at ${head.signed_at}: something was cut off, removed, added or changed.${since}`,
    );
  }

  #lastRevisionOf(stream: string): LastRevision {
    const last = this.#lastLines.get(stream);
    if (last === undefined) throw new Error(`${stream} has no head`);
    return { stream, revision: last.revision, hash: last.hash };
  }

  /** Throws a fault for the first stream that differs from the signed list, if there is one. */
  #nameDifference(list: readonly LastRevision[]): void {
    const signed = new Map(list.map((one) => [one.stream, one]));
    for (const stream of inByteOrder([...new Set([...this.#lastLines.keys(), ...signed.keys()])])) {
      const [last, one] = [this.#lastLines.get(stream), signed.get(stream)];
      const has = last?.revision ?? -1;
      const had = one?.revision ?? -1;
      if (has < had) {
        const what =
          last === undefined ? 'The whole stream was removed' : 'The end of the stream was cut off';
        const missing = { stream, revision: has + 1 };
        throw new Faulty('missing_event', `${stream}@${has + 1} is missing. ${what}.`, missing);
      }
      if (has > had) {
        const added = { stream, revision: had + 1 };
        throw new Faulty(
          'inserted_event',
          `${stream}@${had + 1} did not exist when the head was signed.`,
          added,
        );
      }
      if (last !== undefined && last.hash !== one?.hash) {
        const changed = { line: last.line, stream, revision: last.revision };
        throw new Faulty(
          'changed_event',
          `${stream}@${last.revision}, or an earlier event of its stream, was changed and given a new hash.`,
          changed,
        );
      }
    }
  }
}

/** The hash must be at its fixed place; otherwise bytes around it could be moved without changing the hash. */
const isAtItsPlace = (metadata: string, at: number, end: number): boolean =>
  metadata.startsWith('},', at - 2) && AFTER_HASH.some((text) => metadata.startsWith(text, end));

const previousIn = (metadata: string): string => {
  const at = metadata.indexOf(PREVIOUS) + PREVIOUS.length;
  return metadata.slice(at, at + START.length);
};

/** Copies a text, since a substring would keep its line in memory. */
const copied = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');

const isPlain = (text: string): boolean => !/[^ -~]/.test(text);

/** Sorts names by their UTF-8 bytes; `sort` already does this for ASCII names. */
const inByteOrder = (names: string[]): string[] =>
  names.every(isPlain)
    ? names.sort()
    : names.sort((a, b) => Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8')));
