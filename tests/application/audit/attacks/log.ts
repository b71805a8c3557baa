import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { HeadSigningKey } from '../../../../application/ports/audit-heads.ts';
import { openSqliteEventStore } from '../../../../infrastructure/event-store/sqlite/store.ts';
import { exportOf, fillAuditLog, newSigner, type Proof, proofOf } from '../../../support/audit-log.ts';
import { writeAsTexts } from '../../../support/event-rows.ts';
import { memoryKeyStore } from '../../../support/fakes.ts';
import {
  hasPython,
  type Verdict,
  verdictOfArgs,
  verdictOfPython,
  withoutMessage,
} from '../../../support/verifiers.ts';

const LINE_FEED = 0x0a;
const CHUNK = 1 << 20;

/** The bytes of an export, in parts. */
export type Export = Buffer[];

export interface Size {
  readonly EVENTS: number;
  /** Events per stream. */
  readonly length: number;
  /** Whether the slow second verifier checks all attacks. */
  readonly both: boolean;
}

/** Yields the export in chunks of the size that a file is read in. */
const chunksOf = async function* (pieces: Export): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += CHUNK) yield piece.subarray(at, at + CHUNK);
  }
};

export const expectFault = (verdict: Verdict, fault: Partial<NonNullable<Verdict['fault']>>): void => {
  expect(verdict.verified).to.equal(false);
  expect({ ...verdict.fault, message: undefined }).to.deep.include(fault);
};

/** For a suite: a log of two tenants, its export, proofs of it, and ways to change it. */
export const attackedLog = ({ EVENTS, length, both }: Size) => {
  const keyStore = memoryKeyStore();
  const python = hasPython();
  let home: string;
  let signer: HeadSigningKey;
  let log: string;
  let whole: Export;
  /** The export as a file. */
  let wholePath: string;
  /** Offsets of the start of each line, and of the end of the last line. */
  let starts: number[];
  let proof: Proof;
  let earlier: Proof;
  let foreign: Proof;
  let made = 0;

  before(async () => {
    if (!python) process.stdout.write('    python3 is missing: the second verifier is not run\n');
    home = await mkdtemp(join(tmpdir(), 'audit-attacks-'));
    log = join(home, 'log');
    await cp(await emptyFolder(), log, { recursive: true });
    const events = openSqliteEventStore({ path: join(log, 'events.db') });
    signer = newSigner();
    await fillAuditLog(events, keyStore, 'acme', EVENTS / 2, length);
    await fillAuditLog(events, keyStore, 'other', EVENTS / 50, 20);
    await events.close();
    earlier = await proofOf({ folder: log }, 'acme', signer);
    const again = openSqliteEventStore({ path: join(log, 'events.db') });
    await fillAuditLog(again, keyStore, 'acme', EVENTS / 2, length);
    await again.close();
    proof = await proofOf({ folder: log }, 'acme', signer);
    foreign = await proofOf({ folder: log }, 'other', signer);
    whole = [Buffer.concat(await exported(log))];
    wholePath = await writtenOf(whole);
    starts = [0];
    const bytes = whole[0] as Buffer;
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1))
      starts.push(at + 1);
    expect(starts).to.have.length(EVENTS + 1);
  });
  after(() => rm(home, { recursive: true, force: true }));

  const emptyFolder = () => mkdtemp(join(home, 'empty-'));
  const file = (name: string): string => join(home, `${++made}-${name}`);
  const exported = (folder: string, tenant = 'acme'): Promise<Export> =>
    exportOf({ folder, keyStore }, tenant);
  const written = async (name: string, text: string): Promise<string> => {
    const path = file(name);
    await writeFile(path, text);
    return path;
  };

  const writtenOf = async (pieces: Export): Promise<string> => {
    const path = file('export.ndjson');
    await writeFile(path, pieces);
    return path;
  };

  /** The verdict of the verifier; with `both`, the verdict of the Python verifier must be the same. */
  const verdictOf = async (pieces: Export, ...args: string[]): Promise<Verdict> => {
    const found = await verdictOfArgs(args, chunksOf(pieces));
    if (!both) return found;
    const path = pieces === whole ? wholePath : await writtenOf(pieces);
    if (python) await expectOfPython(found, path, args);
    if (pieces !== whole) await rm(path);
    return found;
  };
  const expectOfPython = async (found: Verdict, path: string, args: readonly string[]): Promise<void> => {
    expect(
      withoutMessage(await verdictOfPython('--export', path, ...args)),
      'the second verifier',
    ).to.deep.equal(withoutMessage(found));
  };
  const against = async (text: string): Promise<string[]> => [
    '--proof',
    await written('proof', text),
    '--public-key',
    signer.publicKey,
  ];
  const checked = async (pieces: Export, using = proof.withHeads): Promise<Verdict> =>
    verdictOf(pieces, ...(await against(using)));

  /** The export of a copy of the log whose file was changed. */
  const broken = async (change: (path: string) => void | Promise<void>): Promise<Export> => {
    const copy = file('log');
    await cp(log, copy, { recursive: true });
    await change(join(copy, 'events.db'));
    const to = await exported(copy);
    await rm(copy, { recursive: true });
    return to;
  };
  const inDatabase = (change: (db: DatabaseSync) => void): Promise<Export> =>
    broken((path) => {
      const db = new DatabaseSync(path);
      writeAsTexts(db);
      change(db);
      db.close();
    });

  const bytesOf = (from: number, to: number): Buffer =>
    (whole[0] as Buffer).subarray(starts[from], starts[to]);
  const textOf = (index: number): string =>
    bytesOf(index, index + 1)
      .toString('utf8')
      .trimEnd();
  const lineOf = (index: number): { stream: string; revision: number; id: string; position: string } =>
    JSON.parse(textOf(index));
  /** The index of the first later line that the predicate accepts. */
  const indexAfter = (index: number, keep: (text: string) => boolean): number => {
    for (let at = index + 1; at < EVENTS; at += 1) if (keep(textOf(at))) return at;
    throw new Error('there is no such line');
  };
  /** An event in the middle of a stream of the category; `line` counts from 1. */
  const victim = (category: string) => {
    const index = indexAfter(
      EVENTS / 4,
      (text) => text.includes(`"stream":"acme.${category}-`) && text.includes('"revision":50,'),
    );
    return { ...lineOf(index), index, line: index + 1 };
  };

  return {
    EVENTS,
    both,
    python,
    /** Path of the log. */
    get folder() {
      return log;
    },
    get signer() {
      return signer;
    },
    get whole() {
      return whole;
    },
    get wholePath() {
      return wholePath;
    },
    get proof() {
      return proof;
    },
    get earlier() {
      return earlier;
    },
    get foreign() {
      return foreign;
    },
    written,
    exported,
    verdictOf,
    expectOfPython,
    against,
    checked,
    broken,
    inDatabase,
    bytesOf,
    textOf,
    lineOf,
    indexAfter,
    victim,
  };
};

export type AttackedLog = ReturnType<typeof attackedLog>;
