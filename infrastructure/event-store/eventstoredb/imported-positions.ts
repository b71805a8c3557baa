import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { NewEvent, StoredEvent } from '../../../application/ports/event-store.ts';
import { type ImportedLog, UnfinishedImport } from '../log-import.ts';
import { formatPosition, isPosition } from '../positions.ts';
import type { TimedConnection } from './connection.ts';
import { readStream } from './reads.ts';

/** The stream of an import's notes. Their types begin with `$`, so they are not read as events of the product. */
export const NOTES = 'imported-positions';

const position = z.string().refine(isPosition);
const BEGUN = '$ImportBegun';
const PAIRS = '$ImportPositions';
const COMPLETED = '$ImportCompleted';
const begun = z.object({ id: z.string(), events: z.number(), end: position.nullable() });
const pairs = z.object({ pairs: z.array(z.tuple([position, position])) });
const completed = z.object({ server: position.nullable() });

/** An imported event's original position and its position in the server. */
export interface PositionPair {
  readonly own: bigint;
  readonly server: bigint;
}

interface ImportNotes {
  readonly log: ImportedLog;
  readonly pairs: readonly PositionPair[];
  /** The server's position of the last imported event; undefined while the import is not complete. */
  readonly end: bigint | undefined;
}

/** Reads the notes of an import; undefined for a store without one. @throws {StoreUnavailable} */
export const readNotes = async (timed: TimedConnection): Promise<ImportNotes | undefined> => {
  const notes = await readStream(timed, NOTES, { limit: Number.MAX_SAFE_INTEGER });
  const [first] = notes;
  if (first === undefined) return undefined;
  const { id, events, end } = begun.parse(JSON.parse(first.data));
  const found = notes.filter(({ type }) => type === PAIRS).flatMap(pairsIn);
  const last = notes.find(({ type }) => type === COMPLETED);
  return {
    log: { id, events, end: end ?? undefined },
    pairs: found,
    end: last === undefined ? undefined : endIn(last),
  };
};

const offset = (text: string): bigint => BigInt(`0x${text}`);

const pairsIn = ({ data }: StoredEvent): PositionPair[] =>
  pairs.parse(JSON.parse(data)).pairs.map(([own, server]) => ({ own: offset(own), server: offset(server) }));

const endIn = ({ data }: StoredEvent): bigint => {
  const { server } = completed.parse(JSON.parse(data));
  return server === null ? 0n : offset(server);
};

export const begunNote = ({ id, events, end }: ImportedLog): NewEvent =>
  note(id, 0, BEGUN, { id, events, end: end ?? null });

const PAIRS_PER_NOTE = 1000;

/** The notes after {@link begunNote}, each with its revision in {@link NOTES}. */
export const closingNotes = (
  { id }: ImportedLog,
  found: readonly PositionPair[],
): { readonly revision: number; readonly event: NewEvent }[] => {
  const texts = found.map(({ own, server }) => [formatPosition(own), formatPosition(server)] as const);
  const notes: (readonly [type: string, data: unknown])[] = [];
  for (let at = 0; at < texts.length; at += PAIRS_PER_NOTE) {
    notes.push([PAIRS, { pairs: texts.slice(at, at + PAIRS_PER_NOTE) }]);
  }
  notes.push([COMPLETED, { server: texts.at(-1)?.[1] ?? null }]);
  return notes.map(([type, data], nth) => ({ revision: nth + 1, event: note(id, nth + 1, type, data) }));
};

/** The id is derived from the export, so that a repeated append is acknowledged and not written twice. */
const note = (id: string, nth: number, type: string, data: unknown): NewEvent => {
  const digest = createHash('sha256').update(`${id}\n${nth}`).digest('hex');
  const uuid = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `8${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ];
  return { id: uuid.join('-'), type, data: JSON.stringify(data), metadata: '{}' };
};

/** Maps original positions to the server's and back. */
export class ImportedPositions {
  readonly #pairs: readonly PositionPair[];
  /** The server's position of the last imported event. */
  readonly end: bigint;
  /** Added to the server's positions of later events, so that they follow the imported ones. */
  readonly #shift: bigint;

  /** @throws {UnfinishedImport} */
  constructor({ pairs: found, end }: ImportNotes) {
    if (end === undefined) throw new UnfinishedImport();
    const last = found.at(-1)?.own ?? 0n;
    this.#pairs = found;
    this.end = end;
    this.#shift = last > end ? last - end : 0n;
  }

  /** The position of an event after the import. */
  ownOfLater(server: bigint): bigint {
    return server + this.#shift;
  }

  /** The greatest known original position at or before a server position. */
  ownAtMost(server: bigint): bigint {
    if (server > this.end) return this.ownOfLater(server);
    return this.#last((pair) => pair.server <= server)?.own ?? 0n;
  }

  /** The last noted pair at or before an original position; undefined before the first event. */
  before(own: bigint): PositionPair | undefined {
    return this.#last((pair) => pair.own <= own);
  }

  /** The server's position of an event after the import; undefined for other positions. */
  serverOfLater(own: bigint): bigint | undefined {
    const server = own - this.#shift;
    return server > this.end ? server : undefined;
  }

  #last(holds: (pair: PositionPair) => boolean): PositionPair | undefined {
    let [low, high] = [0, this.#pairs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const pair = this.#pairs[middle];
      if (pair !== undefined && holds(pair)) low = middle + 1;
      else high = middle;
    }
    return this.#pairs[low - 1];
  }
}
