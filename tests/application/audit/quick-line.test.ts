import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { eventOf } from '../../../application/audit/verify/line.ts';
import { goodEventOf } from '../../../application/audit/verify/quick-line.ts';
import { Verifier } from '../../../application/audit/verify/verifier.ts';
import { chainHash } from '../../../application/core/events/hash-chain.ts';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { exportOf, fillAuditLog } from '../../support/audit-log.ts';
import { memoryKeyStore } from '../../support/fakes.ts';

const HASH = /"hash":"[0-9a-f]{64}",/;

/** The line with its hash computed again, as someone who can write the log could do. */
const rehashed = (line: string): string => {
  const event = eventOf(line);
  if (event === undefined) return line;
  const { stream, revision, id, type, data, metadata } = event;
  const previous = /"prev_hash":"([0-9a-f]{64})"/.exec(metadata)?.[1] ?? '';
  const hash = chainHash(previous, stream, revision, id, type, data, metadata.replace(HASH, ''));
  const stated = /"hash":"([0-9a-f]{64})",/.exec(metadata)?.[1] ?? '-';
  return line.replaceAll(stated, hash);
};

describe('A line read as bytes', function () {
  this.timeout(120_000);
  let lines: string[];

  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'audit-'));
    const keyStore = memoryKeyStore();
    const events = openSqliteEventStore({ path: join(folder, 'events.db') });
    await fillAuditLog(events, keyStore, 'acme', 80, 8);
    await events.close();
    lines = Buffer.concat(await exportOf({ folder, keyStore }, 'acme'))
      .toString('utf8')
      .trimEnd()
      .split('\n');
    await rm(folder, { recursive: true });
  });

  /** Whether the byte reader accepts the line. Fails if it accepts a line that has another meaning as JSON. */
  const agrees = (line: string): boolean => {
    const good = goodEventOf(Buffer.from(line, 'utf8'));
    if (good === undefined) return false;
    const { position, stream, revision } = good;
    const event = eventOf(line);
    expect(event, line).to.include({ position, stream, revision, viewAgrees: true });
    expect(() => JSON.parse(line), line).not.to.throw();
    if (event === undefined) return false;
    const { id, type, data, metadata } = event;
    expect(JSON.parse(metadata)).to.include({ hash: good.hash, prev_hash: good.previous });
    const hash = chainHash(good.previous, stream, revision, id, type, data, metadata.replace(HASH, ''));
    expect(good.hash).to.equal(hash);
    return true;
  };

  it('is accepted for more than nine in ten lines of an export', () => {
    expect(lines.filter(agrees).length).to.be.greaterThan(lines.length * 0.9);
  });

  it('is refused after a change unless JSON.parse reads the same values, also with a matching hash', () => {
    let good = 0;
    const put = fc.oneof(
      fc.string({ maxLength: 3, unit: 'binary' }),
      fc.constantFrom(
        '"',
        '\\',
        '\\"',
        '{',
        '}',
        ',',
        ':',
        '"hash":"',
        '"prev_hash":"',
        '"v1:',
        'v1:a:b',
        '\\u0041',
        '0',
      ),
    );
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(2), put, (at, from, cut, text) => {
        const line = lines[at % lines.length] ?? '';
        const place = from % (line.length + 1);
        const other = line.slice(0, place) + text + line.slice(place + cut);
        fc.pre(other.isWellFormed());
        if (agrees(other)) good += 1;
        if (agrees(rehashed(other))) good += 1;
      }),
      { numRuns: 10_000 },
    );
    // Some changes leave the line valid, for example another text in place of a sealed text.
    expect(good).to.be.greaterThan(100);
  });

  it('is refused when the view differs from the data in more than opened texts of the top level', () => {
    const line = lines.find((one) => one.includes('MessageSent')) ?? '';
    const event = JSON.parse(line);
    const stored: Record<string, unknown> = JSON.parse(event.sealed.data);
    const made = (data: unknown, view: unknown): string => {
      const text = JSON.stringify(data);
      const metadata: string = event.sealed.metadata;
      const head = line.slice(0, line.indexOf('"data":'));
      const sealed = JSON.stringify({ data: text, metadata });
      return rehashed(`${head}"data":${JSON.stringify(view)},"metadata":${metadata},"sealed":${sealed}}`);
    };
    expect(agrees(made(stored, { ...stored, body: 'v1:another:text' }))).to.equal(true);
    const { body } = stored;
    for (const [data, view] of [
      [{ body: { in: body } }, { body: { in: 'x' } }],
      [{ list: [body] }, { list: ['x'] }],
      [{ body: 'v1:a' }, { body: 'x' }],
      [{ body: 'v1::AA' }, { body: 'x' }],
      [{ body: 'v1:a:A*' }, { body: 'x' }],
      [{ body }, { body: 1 }],
      [{ body }, { body, more: 'x' }],
      [{ body: 'x' }, { body: 'v1:a:AA' }],
      [{ 'v1:a:AA': 1 }, { x: 1 }],
    ]) {
      expect(goodEventOf(Buffer.from(made(data, view))), JSON.stringify(view)).to.equal(undefined);
    }
  });

  it('leads to the same verdict as the line read as JSON', () => {
    const verdicts = [false, true].map((isQuick) => {
      const verifier = new Verifier([]);
      for (const line of lines) {
        // JSON ignores the space, the byte reader refuses it.
        verifier.take(Buffer.from(isQuick ? line : line.replace(/^\{/, '{ ')));
      }
      return verifier.end();
    });
    expect(verdicts[0]).to.deep.equal(verdicts[1]);
    expect(verdicts[0]?.events).to.equal(lines.length);
  });
});
