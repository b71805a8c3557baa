import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** The log of the test server, with EventStoreDB's rules of expected revisions, idempotency and positions. */

export interface LoggedRecord {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly stream: string;
  readonly revision: number;
  /** Commit and prepare position; grows, with gaps. */
  readonly position: bigint;
}

export type Proposed = Omit<LoggedRecord, 'stream' | 'revision' | 'position'>;
export type Expected = 'any' | 'no_stream' | 'stream_exists' | number;

export type Appended =
  | { readonly kind: 'success'; readonly revision: number; readonly position: bigint }
  /** @property current undefined when the stream does not exist */
  | { readonly kind: 'wrong_expected_version'; readonly current: number | undefined };

/** Minimum distance of two positions, so that positions have gaps like the real server's. */
const RECORD_BYTES = 100n;

export class EventLog {
  readonly records: LoggedRecord[] = [];
  readonly #streams = new Map<string, LoggedRecord[]>();
  readonly #ids = new Map<string, LoggedRecord>();
  readonly #listeners = new Set<(appended: readonly LoggedRecord[]) => void>();
  readonly #path: string | undefined;
  #end = 0n;

  /** @param path file of the log, which survives kills; undefined keeps it in memory */
  constructor(path: string | undefined) {
    this.#path = path;
    if (path !== undefined && existsSync(path)) for (const record of readRecords(path)) this.#add(record);
    else this.#write([this.#next('$settings', 0, SETTINGS)]);
    // As in the real server, the ids that `any` is checked against do not survive a restart.
    this.#ids.clear();
  }

  onAppended(listener: (appended: readonly LoggedRecord[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stream(name: string): readonly LoggedRecord[] | undefined {
    return this.#streams.get(name);
  }

  append(stream: string, expected: Expected, events: readonly Proposed[]): Appended {
    const present = this.#streams.get(stream) ?? [];
    const current = present.length - 1;
    const repeated = this.#repeated(present, expected, events);
    if (repeated !== undefined) {
      return { kind: 'success', revision: repeated.revision, position: repeated.position };
    }
    if (!isExpected(expected, current)) {
      return { kind: 'wrong_expected_version', current: current < 0 ? undefined : current };
    }
    const records: LoggedRecord[] = [];
    for (const [nth, event] of events.entries()) records.push(this.#next(stream, current + 1 + nth, event));
    this.#write(records);
    for (const listener of [...this.#listeners]) listener(records);
    const last = records.at(-1) ?? present.at(-1);
    return { kind: 'success', revision: last?.revision ?? -1, position: last?.position ?? 0n };
  }

  /** The last event of an identical earlier append. */
  #repeated(
    present: readonly LoggedRecord[],
    expected: Expected,
    events: readonly Proposed[],
  ): LoggedRecord | undefined {
    if (events.length === 0) return undefined;
    if (typeof expected === 'number' || expected === 'no_stream') {
      const from = expected === 'no_stream' ? 0 : expected + 1;
      const isSame = events.every(({ id }, nth) => present[from + nth]?.id === id);
      return isSame ? present[from + events.length - 1] : undefined;
    }
    const known = events.map(({ id }) => this.#ids.get(id));
    return known.every((record) => record !== undefined && present[record.revision] === record)
      ? known.at(-1)
      : undefined;
  }

  #next(stream: string, revision: number, event: Proposed): LoggedRecord {
    const position = this.#end;
    this.#end += RECORD_BYTES + BigInt(event.data.length + event.metadata.length);
    return { ...event, stream, revision, position };
  }

  #write(records: readonly LoggedRecord[]): void {
    if (this.#path !== undefined) appendFileSync(this.#path, records.map(lineOf).join(''));
    for (const record of records) this.#add(record);
  }

  #add(record: LoggedRecord): void {
    const of = this.#streams.get(record.stream) ?? [];
    this.#streams.set(record.stream, of);
    of.push(record);
    this.records.push(record);
    this.#ids.set(record.id, record);
    const size = RECORD_BYTES + BigInt(record.data.length + record.metadata.length);
    if (record.position + size > this.#end) this.#end = record.position + size;
  }
}

/** The real server's log begins with system events. */
const SETTINGS: Proposed = {
  id: '00000000-0000-4000-8000-000000000000',
  type: '$UserCreated',
  contentType: 'application/json',
  data: Buffer.from('{}'),
  metadata: Buffer.from('{}'),
};

const isExpected = (expected: Expected, current: number): boolean => {
  switch (expected) {
    case 'any':
      return true;
    case 'no_stream':
      return current < 0;
    case 'stream_exists':
      return current >= 0;
    default:
      return expected === current;
  }
};

const lineOf = ({ data, metadata, position, ...rest }: LoggedRecord): string =>
  `${JSON.stringify({
    ...rest,
    data: Buffer.from(data).toString('base64'),
    metadata: Buffer.from(metadata).toString('base64'),
    position: String(position),
  })}\n`;

interface Line extends Omit<LoggedRecord, 'data' | 'metadata' | 'position'> {
  readonly data: string;
  readonly metadata: string;
  readonly position: string;
}

/** A line cut off by a kill was never acknowledged, so it is ignored. */
const readRecords = (path: string): LoggedRecord[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const { data, metadata, position, ...rest }: Line = JSON.parse(line);
      return {
        ...rest,
        data: Buffer.from(data, 'base64'),
        metadata: Buffer.from(metadata, 'base64'),
        position: BigInt(position),
      };
    });
