import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { signedText } from '../../../application/audit/head.ts';
import { HeadKeeper } from '../../../application/audit/head-keeper.ts';
import { HeadSigner } from '../../../application/audit/head-signer.ts';
import { orderedHeads, publicKeyOf } from '../../../application/audit/verify/heads.ts';
import { LogFollower } from '../../../application/core/subscriptions/log-follower.ts';
import type { HeadSink, SignedHead } from '../../../application/ports/audit-heads.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { folderSink } from '../../../infrastructure/audit/head-sinks.ts';
import { headSigner } from '../../../infrastructure/audit/signing-key.ts';
import { openSqliteHeadStore } from '../../../infrastructure/audit/sqlite-heads.ts';
import { readConfig } from '../../../infrastructure/config.ts';
import { fillAuditLog, newSigner } from '../../support/audit-log.ts';
import { untilPasses } from '../../support/eventually.ts';
import { memoryKeyStore, testClock, testLogger } from '../../support/fakes.ts';
import { openMemoryEventStore } from '../../support/memory-event-store.ts';
import { memoryHeadStore } from '../../support/memory-head-store.ts';

const hashOf = (metadata: string): string => /"hash":"([0-9a-f]{64})"/.exec(metadata)?.[1] ?? '';

/** Computes the root as `docs/audit-format.md` defines it. */
const rootOf = async (events: EventStore, tenantId: string): Promise<string> => {
  const heads = new Map<string, string>();
  for (const { stream, revision, metadata } of await events.readAll({ limit: 1_000_000 })) {
    if (stream.startsWith(`${tenantId}.`)) heads.set(stream, `${stream} ${revision} ${hashOf(metadata)}`);
  }
  return createHash('sha256')
    .update([...heads.values()].sort().join('\n'))
    .digest('hex');
};

describe('Signed heads', function () {
  this.timeout(60_000);
  let folder: string;
  let ended: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'head-signer-'));
  });
  afterEach(async () => {
    for (const end of ended.reverse()) await end();
    ended = [];
    await rm(folder, { recursive: true });
  });

  /** Starts what one process has: its own follower and connection over the shared log and file. */
  const start = async (
    events: EventStore,
    options: { sink?: HeadSink; signed?: false; file?: string } = {},
  ) => {
    const heads = await openSqliteHeadStore({ path: join(folder, options.file ?? 'heads.db') });
    const logger = testLogger();
    const clock = testClock();
    const signer = newSigner();
    const keeper = new HeadKeeper({ events, follower: new LogFollower({ events, logger }), heads, logger });
    const auditSigner = new HeadSigner({
      keeper,
      heads,
      signer: options.signed === false ? undefined : signer,
      sink: options.sink,
      clock,
      logger,
      isTenant: (owner) => owner !== 'platform',
    });
    const stopping = new AbortController();
    const running = [keeper.run(stopping.signal), auditSigner.deliver(stopping.signal)];
    let isOver = false;
    const stop = async (): Promise<void> => {
      if (isOver) return;
      isOver = true;
      stopping.abort();
      await Promise.all(running);
      await heads.close();
    };
    ended.push(stop);
    return { auditSigner, keeper, heads, signer, clock, logger, stop };
  };

  it('cover the last event of every stream of the tenant, and no other stream', async () => {
    const events = openMemoryEventStore();
    const keyStore = memoryKeyStore();
    const { auditSigner, signer } = await start(events);
    for (let round = 0; round < 3; round += 1) {
      await fillAuditLog(events, keyStore, 'acme', 3000, 3);
      await fillAuditLog(events, keyStore, 'acme2', 100, 3);
      for (const tenant of ['acme', 'acme2', 'nobody']) {
        const head = await auditSigner.proof(tenant);
        expect(head.root, tenant).to.equal(await rootOf(events, tenant));
        expect(head.position >= ((await events.end()) ?? '~')).to.equal(true);
        expect(() => orderedHeads({ head }, [], publicKeyOf(signer.publicKey), undefined)).not.to.throw();
      }
    }
    expect((await auditSigner.proof('nobody')).root, 'without streams').to.equal(
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    );
  });

  it('are correct for their position while events are appended', async () => {
    const events = openMemoryEventStore();
    const { auditSigner } = await start(events);
    let done = false;
    const slowly: EventStore = {
      ...events,
      append: async (...given) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        return events.append(...given);
      },
    };
    const writing = fillAuditLog(slowly, memoryKeyStore(), 'acme', 20_000, 40).then(() => {
      done = true;
    });
    const heads: SignedHead[] = [];
    while (!done) {
      if ((await events.end()) !== undefined) heads.push(await auditSigner.proof('acme'));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
    expect(heads.length).to.be.greaterThan(2);
    const log = await events.readAll({ limit: 1_000_000 });
    for (const { position, root } of heads) {
      const part = openMemoryEventStore();
      const before = log.filter((event) => event.position <= position);
      expect(root).to.equal(await rootOf({ ...part, readAll: async () => before }, 'acme'));
    }
  });

  it('continue after a restart and agree between two processes with one file', async () => {
    const events = openMemoryEventStore();
    const keyStore = memoryKeyStore();
    const first = await start(events);
    await fillAuditLog(events, keyStore, 'acme', 2000, 5);
    await first.auditSigner.proof('acme');
    await first.stop();
    const [second, third] = [await start(events), await start(events)];
    await Promise.all([
      fillAuditLog(events, keyStore, 'acme', 2000, 5),
      second.auditSigner.proof('acme').catch(() => undefined),
      third.auditSigner.proof('acme').catch(() => undefined),
    ]);
    const root = await rootOf(events, 'acme');
    expect((await second.auditSigner.proof('acme')).root).to.equal(root);
    expect((await third.auditSigner.proof('acme')).root).to.equal(root);
  });

  it('are rebuilt for another log', async () => {
    const first = openMemoryEventStore();
    await fillAuditLog(first, memoryKeyStore(), 'acme', 500, 5);
    const before = await start(first);
    await before.auditSigner.proof('acme');
    await before.stop();
    const other = openMemoryEventStore();
    await fillAuditLog(other, memoryKeyStore(), 'acme', 300, 5);
    const after = await start(other);
    expect((await after.auditSigner.proof('acme')).root).to.equal(await rootOf(other, 'acme'));
  });

  it('are signed regularly only for tenants with new events', async () => {
    const events = openMemoryEventStore();
    const keyStore = memoryKeyStore();
    const received: SignedHead[] = [];
    const sink: HeadSink = { receive: async (head) => void received.push(head) };
    const { auditSigner } = await start(events, { sink });
    await fillAuditLog(events, keyStore, 'acme', 50);
    await fillAuditLog(events, keyStore, 'other', 50);
    await fillAuditLog(events, keyStore, 'platform', 50);
    const tenants = () => received.map(({ tenant_id }) => tenant_id).sort();
    await auditSigner.round();
    await untilPasses(() => expect(tenants()).to.deep.equal(['acme', 'other']));
    await auditSigner.round();
    await fillAuditLog(events, keyStore, 'other', 5);
    await auditSigner.round();
    await untilPasses(() => expect(tenants()).to.deep.equal(['acme', 'other', 'other']));
  });

  it('reach the sink in order once it is available again, also after a restart', async () => {
    const events = openMemoryEventStore();
    await fillAuditLog(events, memoryKeyStore(), 'acme', 50);
    const received: string[] = [];
    let isThere = false;
    const sink: HeadSink = {
      receive: async ({ signed_at }) => {
        if (!isThere) throw new Error('out of reach');
        received.push(signed_at);
      },
    };
    const first = await start(events, { sink });
    const sealed: string[] = [];
    for (let nth = 0; nth < 3; nth += 1) {
      first.clock.advance(1000);
      sealed.push((await first.auditSigner.proof('acme')).signed_at);
    }
    await untilPasses(() =>
      expect(first.logger.lines.map(({ message }) => message).join()).to.include('AUDIT_HEADS'),
    );
    await first.stop();
    isThere = true;
    await start(events, { sink });
    await untilPasses(() => expect(received).to.deep.equal(sealed));
  });

  const head = (signed_at: string): SignedHead => ({
    tenant_id: 'acme',
    position: '1',
    root: 'r',
    signed_at,
    algorithm: 'Ed25519',
    public_key: '',
    signature: '',
  });

  it('that the sink refuses delay no other tenant', async () => {
    const events = openMemoryEventStore();
    for (const tenant of ['acme', 'other']) await fillAuditLog(events, memoryKeyStore(), tenant, 50);
    const received: string[] = [];
    let isRefusing = true;
    const sink: HeadSink = {
      receive: async ({ tenant_id, signed_at }) => {
        if (isRefusing && tenant_id === 'acme') throw new Error('answered 404');
        received.push(`${tenant_id} ${signed_at}`);
      },
    };
    const { auditSigner, clock, heads } = await start(events, { sink });
    const signed: string[] = [];
    for (const tenant of ['acme', 'acme', 'other']) {
      clock.advance(1000);
      signed.push(`${tenant} ${(await auditSigner.proof(tenant)).signed_at}`);
    }
    await untilPasses(() => expect(received).to.deep.equal(signed.slice(2)));
    await untilPasses(async () => expect(await heads.waiting(10, 0)).to.have.length(2));
    isRefusing = false;
    await untilPasses(() => expect(received).to.deep.equal([...signed.slice(2), ...signed.slice(0, 2)]));
  });

  it('that wait are bounded per tenant: a tenant with many drops its own oldest ones', async () => {
    for (const heads of [memoryHeadStore(), await openSqliteHeadStore({ path: join(folder, 'heads.db') })]) {
      const lost: number[] = [];
      await heads.enqueue({ ...head('0'), tenant_id: 'quiet' }, 3);
      for (const at of ['1', '2', '3', '4', '5']) lost.push(await heads.enqueue(head(at), 3));
      expect(lost).to.deep.equal([0, 0, 0, 1, 1]);
      const left = (await heads.waiting(10, 0)).map((one) => [one.head.tenant_id, one.head.signed_at].join());
      expect(left).to.deep.equal(['quiet,0', 'acme,3', 'acme,4', 'acme,5']);
      await heads.close();
    }
  });

  it('fail at once for a folder that cannot be made', async function () {
    if (process.platform !== 'linux') this.skip();
    const failed = await folderSink('/proc/heads/out')
      .receive(head('1'), new AbortController().signal)
      .catch((error: unknown) => error);
    expect(failed).to.have.property('code', 'ENOENT');
  });

  it('are lines of one file per tenant, also after a crash has cut the last line', async () => {
    const outside = join(folder, 'deep', 'out');
    const sink = folderSink(outside);
    const { signal } = new AbortController();
    await sink.receive(head('1'), signal);
    const path = join(outside, 'acme.ndjson');
    await writeFile(path, `${await readFile(path, 'utf8')}{"tenant_id":"ac`);
    await sink.receive(head('2'), signal);
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    expect([lines[0], lines[2]].map((line) => JSON.parse(line ?? '').signed_at)).to.deep.equal(['1', '2']);
  });

  it('are signed over exactly these bytes', () => {
    const head = { tenant_id: 'acme', position: '00ff', root: 'ab', signed_at: '2026-01-01T00:00:00.000Z' };
    expect(signedText(head)).to.equal(
      'workflow-platform audit head v1\nacme\n00ff\nab\n2026-01-01T00:00:00.000Z',
    );
  });

  it('are refused without a key, which production requires', async () => {
    const { auditSigner } = await start(openMemoryEventStore(), { signed: false });
    const refused = await auditSigner.proof('acme').catch((error: unknown) => error);
    expect(refused).to.have.property('code', 'unavailable');
    const config = { ...readConfig({ DATA_DIR: folder }), NODE_ENV: 'production' } as const;
    expect(headSigner(config)).to.equal(undefined);
    const one = { ...config, AUDIT_SIGNING_KEY: Buffer.alloc(32, 1).toString('base64') };
    expect(headSigner(one)?.publicKey).to.equal(headSigner(one)?.publicKey);
    for (const bad of [
      'short',
      'x'.repeat(64),
      '-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----',
    ]) {
      expect(() => headSigner({ ...config, AUDIT_SIGNING_KEY: bad })).to.throw(/^AUDIT_SIGNING_KEY must be/);
    }
  });

  it('use one persistent key in a development folder', () => {
    const config = readConfig({ DATA_DIR: folder });
    expect(headSigner(config)?.publicKey).to.equal(headSigner(config)?.publicKey);
  });
});
