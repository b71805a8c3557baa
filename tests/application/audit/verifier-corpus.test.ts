import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { exportOf, fillAuditLog, newSigner, proofOf } from '../../support/audit-log.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import {
  hasPython,
  type Ran,
  runPythonOften,
  type Verdict,
  verdictOf,
  verdictOfArgs,
  withoutMessage,
} from '../../support/verifiers.ts';
import { mutations } from './attacks/mutations.ts';

const SEED = 20_260_101;
const COUNT = 500;
const OF_PROOFS = 100;

/** The verdict without its message; `not checked` when the verifier could not check. */
const saidBy = (ran: Ran) => (ran.code === 2 ? 'not checked' : withoutMessage(verdictOf(ran)));

describe('Mutations of a real export', function () {
  this.timeout(120_000);
  const signer = newSigner();
  const python = hasPython();
  let folder: string;
  let lines: Buffer[];
  let proof: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-'));
    const keyStore = memoryKeyStore();
    const events = openSqliteEventStore({ path: join(folder, 'events.db') });
    await fillAuditLog(events, keyStore, 'acme', 32, 8);
    await events.close();
    const whole = Buffer.concat(await exportOf({ folder, keyStore }, 'acme')).toString('utf8');
    lines = whole
      .trimEnd()
      .split('\n')
      .map((line) => Buffer.from(line));
    proof = (await proofOf({ folder }, 'acme', signer)).withHeads;
  });
  after(() => rm(folder, { recursive: true }));

  const written = async (name: string, content: string | Buffer): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  };

  /** The verdicts of this process’s verifier; undefined when the check failed. */
  const verdicts = async (runs: readonly (readonly string[])[]): Promise<(Verdict | undefined)[]> => {
    const found: (Verdict | undefined)[] = [];
    for (const args of runs) found.push(await verdictOfArgs(args).catch(() => undefined));
    return found;
  };

  const expectSame = async (runs: readonly (readonly string[])[]): Promise<(Verdict | undefined)[]> => {
    const found = await verdicts(runs);
    if (!python) return found;
    for (const [nth, ran] of runPythonOften(runs).entries()) {
      const ours = found[nth];
      const expected = ours === undefined ? 'not checked' : withoutMessage(ours);
      expect(saidBy(ran), `${nth}: ${runs[nth]?.join(' ')}`).to.deep.equal(expected);
    }
    return found;
  };

  it('get the same verdict from both verifiers, with and without a head', async () => {
    const head = ['--proof', await written('proof', proof), '--public-key', signer.publicKey];
    const runs: string[][] = [];
    for (const [nth, mutate] of mutations(COUNT, SEED).entries()) {
      const path = await written(`export-${nth}`, mutate(lines));
      runs.push(nth % 2 === 0 ? ['--export', path] : ['--export', path, ...head]);
    }
    const found = await expectSame(runs);
    expect(found, 'all could be checked').not.to.include(undefined);
    const kinds = Map.groupBy(found, (verdict) => verdict?.fault?.kind ?? 'verified');
    expect([...kinds.keys()]).to.include.members([
      ...['verified', 'unreadable_line', 'changed_event', 'changed_view', 'missing_event', 'out_of_order'],
    ]);
    // Most mutations must be faults, or the corpus would prove nothing.
    expect(kinds.get('verified')?.length ?? 0).to.be.lessThan(COUNT / 5);
  });

  it('of the proof get the same verdict from both verifiers', async () => {
    const path = await written('export', Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])));
    const ofProof = proof
      .trimEnd()
      .split('\n')
      .map((line) => Buffer.from(line));
    const runs: string[][] = [];
    for (const [nth, mutate] of mutations(OF_PROOFS, SEED + 1).entries()) {
      let changed: Buffer;
      try {
        changed = mutate(ofProof);
      } catch {
        // Some mutations apply only to events, which a proof does not have.
        continue;
      }
      const name = nth % 2 === 0 ? 'proof' : 'heads';
      runs.push([
        '--export',
        path,
        `--${name}`,
        await written(`${name}-${nth}`, changed),
        '--public-key',
        signer.publicKey,
      ]);
    }
    expect(runs.length).to.be.greaterThan(OF_PROOFS / 2);
    await expectSame(runs);
  });

  it('that repeat or add a member, or spell a number in another way, give unreadable lines', async () => {
    const index = lines.findIndex((line) => line.includes('.record-'));
    const line = lines[index]?.toString('utf8') ?? '';
    const runs: string[][] = [];
    for (const [from, to] of [
      [/"revision":(\d)/, '"revision":$1.0'],
      [/"revision":(\d)/, '"revision":$1e0'],
      ['"data":{', '"data":false,"data":{'],
      ['"schema_version":1', '"schema_version":1.0'],
      ['"sizes":2.5', '"sizes":2.50'],
      ['"sizes":2.5', '"sizes":2.5,"sizes":2.5'],
      ['"sizes":2.5', '"sizes":2.5,"\\u0073izes":2.5'],
      ['"small":1e-7', '"small":0.0000001'],
      ['"types":{}', '"types":{"nested":-0}'],
      [/\}$/, ',"more":1}'],
    ] as const) {
      const changed = line.replace(from, to);
      expect(changed).not.to.equal(line);
      const all = lines.with(index, Buffer.from(changed)).flatMap((one) => [one, Buffer.from('\n')]);
      runs.push(['--export', await written(`strict-${runs.length}`, Buffer.concat(all))]);
    }
    for (const found of await expectSame(runs)) {
      expect([found?.verified, found?.fault?.kind, found?.fault?.line]).to.deep.equal([
        false,
        'unreadable_line',
        index + 1,
      ]);
    }
  });
});
