import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { HeadKeeper } from '../../../application/audit/head-keeper.ts';
import { LogFollower } from '../../../application/core/subscriptions/log-follower.ts';
import type { HeadStore, LastRevision } from '../../../application/ports/audit-heads.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { openLogHeads } from '../../../infrastructure/audit/log-heads.ts';
import { openSqliteHeadStore } from '../../../infrastructure/audit/sqlite-heads.ts';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { MaintenanceThread } from '../../../infrastructure/maintenance/maintenance-thread.ts';
import { fillAuditLog } from '../../support/audit-log.ts';
import { gate, rejection, untilPasses } from '../../support/eventually.ts';
import { memoryKeyStore, testLogger } from '../../support/fakes.ts';

describe('Stream hashes read from the log’s file', function () {
  this.timeout(60_000);
  let folder: string;
  let events: EventStore;
  const log = () => join(folder, 'events.db');
  const path = (name = 'heads.db') => join(folder, name);
  const opened: { close(): Promise<void> }[] = [];
  const keyStore = memoryKeyStore();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'log-heads-'));
    events = openSqliteEventStore({ path: log() });
  });
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each.close();
    await events.close();
    await rm(folder, { recursive: true });
  });

  const open = async (options: { name?: string; log?: string } = {}): Promise<HeadStore> => {
    const heads = await openSqliteHeadStore({ path: path(options.name), log: options.log });
    opened.push(heads);
    return heads;
  };
  const all = async (heads: HeadStore): Promise<LastRevision[]> => {
    const found: LastRevision[] = [];
    await heads.read('', (page) => {
      found.push(...page);
    });
    return found;
  };
  const keeping = (heads: HeadStore, logger = testLogger()) => {
    const stopping = new AbortController();
    const keeper = new HeadKeeper({ events, follower: new LogFollower({ events, logger }), heads, logger });
    const running = keeper.run(stopping.signal);
    let isOver = false;
    const close = async (): Promise<void> => {
      if (isOver) return;
      isOver = true;
      stopping.abort();
      await running;
    };
    opened.push({ close });
    return { keeper, close, logger };
  };
  const fill = async (count: number): Promise<void> => {
    await fillAuditLog(events, keyStore, 'acme', count, 7);
    await fillAuditLog(events, keyStore, 'beta', 50, 3);
  };
  /** The hashes of a keeper that reads the events itself. */
  const expected = async (): Promise<{
    heads: LastRevision[];
    owners: string[];
    last: LastRevision | undefined;
  }> => {
    const store = await open({ name: `own-${Math.random()}.db` });
    const { keeper, close } = keeping(store);
    await keeper.reachEnd();
    await close();
    return { heads: await all(store), owners: await store.unsigned(), last: await store.lastNoted() };
  };

  it('equal those of a keeper that reads the events, from any start', async () => {
    const store = await open({ log: log() });
    const { keeper } = keeping(store);
    for (const count of [3000, 10, 2500]) {
      await fill(count);
      await keeper.reachEnd();
      const { heads, owners, last } = await expected();
      expect(await all(store)).to.deep.equal(heads);
      expect(await store.unsigned()).to.deep.equal(owners);
      expect(await store.lastNoted()).to.deep.equal(last);
      expect(await store.position()).to.equal(await events.end());
    }
  });

  it('continue after a kill at each step, and a repeat has no effect', async () => {
    await fill(5000);
    const store = await open();
    for (let steps = 0; steps < 4; steps += 1) {
      const [one, two] = [openLogHeads(path(), log()), openLogHeads(path(), log())];
      one.step();
      two.step();
      one.close();
      two.close();
    }
    const { heads } = await expected();
    expect(await all(store)).to.deep.equal(heads);
  });

  it('are kept by the process itself when the thread fails', async () => {
    await fill(100);
    const store = await open({ log: join(folder, 'nowhere', 'events.db') });
    const { keeper, logger } = keeping(store);
    await untilPasses(() => expect(logger.lines.some(({ level }) => level === 'warn')).to.equal(true));
    await keeper.reachEnd();
    expect(await all(store)).to.deep.equal((await expected()).heads);
  });

  it('are ready for a caller that asks before the keeper knows its position', async () => {
    await fill(100);
    const { keeper, close } = keeping(await open({ log: log() }));
    await keeper.reachEnd();
    await close();
    const store = await open({ log: log() });
    const again = keeping(store);
    await again.keeper.reachEnd();
    expect(await all(store)).to.deep.equal((await expected()).heads);
  });

  it('are rebuilt for another log', async () => {
    await fill(100);
    const store = await open({ log: log() });
    await store.merge(
      new Map([
        ['acme.other-1', { revision: 3, hash: 'x'.repeat(64), position: (await events.end()) ?? never() }],
      ]),
      undefined,
      (await events.end()) ?? never(),
    );
    await keeping(store).keeper.reachEnd();
    expect(await all(store)).to.deep.equal((await expected()).heads);
  });

  it('are refused after the thread is closed, also to waiting callers', async () => {
    await fill(100);
    await open();
    const thread = new MaintenanceThread();
    const advance = () => thread.run({ kind: 'heads', path: path(), log: log() });
    expect(await advance()).to.equal(await events.end());
    await fill(100);
    // The thread may answer before it ends; without any answer the test would hang.
    const asked = advance().then(() => 'answered', String);
    await thread.close();
    expect(await asked).to.match(/ended|closed|answered/);
    expect(String(await rejection(advance()))).to.contain('closed');
  });

  it('are refused to waiting callers once no keeper runs', async () => {
    const store = await open({ log: log() });
    const standing: HeadStore = {
      ...store,
      advance: () => new Promise((resolve) => setTimeout(() => resolve(undefined), 20)),
    };
    await fill(10);
    const { keeper, close } = keeping(standing);
    const told = Promise.allSettled([keeper.reachEnd(), keeper.reachEnd()]);
    await close();
    for (const each of await told) {
      expect(each.status === 'rejected' && each.reason).to.have.property('code', 'read_model_behind');
    }
    const late = await keeper.reachEnd().catch((error: unknown) => error);
    expect(late).to.have.property('code', 'read_model_behind');
  });

  it('let a stop interrupt a long catch-up, which continues later', async () => {
    const store = await open({ log: log() });
    let asked = 0;
    const under = gate();
    // Each answer covers a small part.
    const one = openLogHeads(path(), log());
    const slowly: HeadStore = {
      ...store,
      advance: async () => {
        asked += 1;
        if (asked === 2) under.open();
        await new Promise((resolve) => setTimeout(resolve, 5));
        return one.step().position;
      },
    };
    await fill(30_000);
    const { close } = keeping(slowly);
    await under.passed;
    const askedBefore = asked;
    await close();
    expect(asked - askedBefore, 'steps after the stop').to.be.at.most(1);
    expect(await store.position()).to.not.equal(await events.end());
    one.close();
    await keeping(store).keeper.reachEnd();
    expect(await all(store)).to.deep.equal((await expected()).heads);
  });

  for (const isInThread of [true, false]) {
    const how = isInThread ? 'the thread' : 'the process itself';
    it(`are complete after another process has reset them (kept by ${how})`, async () => {
      await fill(200);
      const store = await open(isInThread ? { log: log() } : {});
      const { keeper, close } = keeping(store);
      await keeper.reachEnd();
      const other = await open();
      const last = (await other.lastNoted()) ?? never();
      // Hashes of another log: nothing is reset.
      await other.reset({ ...last, hash: 'x'.repeat(64) });
      expect(await store.position()).to.equal(await events.end());
      await other.reset(last);
      expect(await store.position()).to.equal(undefined);
      await keeper.reachEnd();
      const { heads } = await expected();
      expect(heads).to.have.length.greaterThan(5);
      expect(await all(store)).to.deep.equal(heads);
      // A stop stores no position beyond the hashes.
      await other.reset((await other.lastNoted()) ?? never());
      await close();
      expect([await store.position(), await all(store)]).to.deep.equal([undefined, []]);
    });
  }
});

const never = (): never => {
  throw new Error('there are events');
};
