import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { eventOf } from '../../../application/audit/verify/line.ts';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { exportOf, fillAuditLog, newSigner, type Proof, proofOf } from '../../support/audit-log.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import {
  hasPython,
  runPython,
  type Verdict,
  verdictOfArgs,
  verify,
  withoutMessage,
} from '../../support/verifiers.ts';

const REPLACEMENT = Buffer.from('\ufffd');

/** Both verifiers on lines that look valid. */
describe('The lines of an export', function () {
  this.timeout(120_000);
  const signer = newSigner();
  const python = hasPython();
  let folder: string;
  let lines: Buffer[];
  let proof: Proof;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-'));
    const keyStore = memoryKeyStore();
    const events = openSqliteEventStore({ path: join(folder, 'events.db') });
    await fillAuditLog(events, keyStore, 'acme', 40, 8);
    await events.close();
    const whole = Buffer.concat(await exportOf({ folder, keyStore }, 'acme'));
    lines = whole
      .toString('utf8')
      .trimEnd()
      .split('\n')
      .map((line) => Buffer.from(line));
    proof = await proofOf({ folder }, 'acme', signer);
    await written('proof', proof.withHeads);
  });
  after(() => rm(folder, { recursive: true }));

  const written = async (name: string, content: string | Buffer): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  };
  const withHead = () => ['--proof', join(folder, 'proof'), '--public-key', signer.publicKey];

  /** The verdict on an export with one line replaced. */
  const verdictWith = async (index: number, line: Buffer): Promise<Verdict> => {
    const all = lines.with(index, line).flatMap((one) => [one, Buffer.from('\n')]);
    const args = ['--export', await written('export', Buffer.concat(all)), ...withHead()];
    const found = await verdictOfArgs(args);
    if (python) {
      const { stdout } = await runPython(...args);
      expect(withoutMessage(JSON.parse(stdout)), String(line)).to.deep.equal(withoutMessage(found));
    }
    return found;
  };
  const indexOf = (text: string): number => lines.findIndex((line) => line.includes(text));
  const changed = (index: number, from: string | RegExp, to: string): Buffer => {
    const line = lines[index]?.toString('utf8') ?? '';
    const other = line.replace(from, to);
    expect(other).not.to.equal(line);
    return Buffer.from(other);
  };

  it('must be strict JSON, also where they are only compared', async () => {
    const index = indexOf('.email-');
    for (const [from, to] of [
      [/\}$/, ']'],
      [/\}$/, 'x'],
      [/\}$/, ''],
      [/"revision":(\d)/, '"revision":0$1'],
      ['"id":"', '"id":"\u0000'],
      ['"type":"', '"type":"\t'],
      ['"stream":"acme.', '"stream":"acme.\u001f'],
    ] as const) {
      const { verified, fault } = await verdictWith(index, changed(index, from, to));
      expect([verified, fault?.kind, fault?.line]).to.deep.equal([false, 'unreadable_line', index + 1]);
    }
    fc.assert(
      fc.property(
        fc.nat(),
        fc.nat(),
        fc.nat(2),
        fc.string({ maxLength: 3, unit: 'binary' }),
        (at, from, cut, text) => {
          const line = lines[at % lines.length]?.toString('utf8') ?? '';
          const place = from % (line.length + 1);
          const other = line.slice(0, place) + text + line.slice(place + cut);
          let isJson = true;
          try {
            JSON.parse(other);
          } catch {
            isJson = false;
          }
          return isJson || eventOf(other) === undefined;
        },
      ),
      { numRuns: 5000 },
    );
  });

  it('must be the stored bytes: invalid UTF-8 differs from its replacement character', async () => {
    const index = indexOf('.record-');
    const body = changed(index, /quotes/g, '\ufffd');
    const at = body.lastIndexOf(REPLACEMENT);
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80]]) {
      const line = Buffer.concat([body.subarray(0, at), Buffer.from(bytes), body.subarray(at + 3)]);
      const { fault } = await verdictWith(index, line);
      expect([fault?.kind, fault?.line]).to.deep.equal(['unreadable_line', index + 1]);
    }
    // A lenient decoder would read those bytes as this text, which is only a changed event.
    expect((await verdictWith(index, body)).fault?.kind).to.equal('changed_event');
  });

  it('must have the hash at its place, since moving it leaves the rest of the metadata unchanged', async () => {
    const index = indexOf('.user-');
    const { sealed, ...event } = JSON.parse(lines[index]?.toString('utf8') ?? '');
    const metadata = String(sealed.metadata);
    const [member = ''] = /"hash":"[0-9a-f]{64}",/.exec(metadata) ?? [];
    const rest = metadata.replace(member, '');
    for (const place of ['"$causationId"', '"id"', '"tenant_id"', '026-']) {
      const moved = rest.replace(place, `${member}${place}`);
      const text = JSON.stringify({ ...event, metadata: 0, sealed: { data: sealed.data, metadata: moved } });
      const line = Buffer.from(text.replace('"metadata":0', `"metadata":${moved}`));
      const { verified, fault } = await verdictWith(index, line);
      expect([verified, fault?.line], place).to.deep.equal([false, index + 1]);
    }
  });

  it('are refused with one sentence when nested too deeply', async () => {
    const index = indexOf('.email-');
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    const line = changed(index, '"data":{', `"data":{"x":${deep},`);
    const all = lines.with(index, line).flatMap((one) => [one, Buffer.from('\n')]);
    const path = await written('deep', Buffer.concat(all));
    for (const run of python ? [verify, runPython] : [verify]) {
      const { code, stdout, stderr } = await run('--export', path);
      expect(code).to.equal(1);
      expect(`${stdout}${stderr}`.trim().split('\n')).to.have.length(1);
    }
  });

  it('are not verified when a required head is missing', async () => {
    const path = await written('whole', Buffer.concat(lines.flatMap((one) => [one, Buffer.from('\n')])));
    const key = ['--public-key', signer.publicKey];
    for (const args of [
      ['--not-before', '2020-01-01T00:00:00Z'],
      ['--heads', await written('none', ''), ...key],
      ['--heads', await written('cut', '{"tenant_id":"ac\n'), ...key],
    ]) {
      for (const run of python ? [verify, runPython] : [verify]) {
        const { code, stdout, stderr } = await run('--export', path, ...args);
        expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
        expect(stderr.trim().split('\n')).to.have.length(1);
      }
    }
    expect((await verdictOfArgs(['--export', path, ...withHead(), '--strict'])).verified).to.equal(true);
  });
});
