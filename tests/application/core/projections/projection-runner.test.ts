import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { ProjectionRunner } from '../../../../application/core/projections/projection-runner.ts';
import type { ReadStore } from '../../../../application/ports/read-store.ts';
import { requestRetry } from '../../../../domain/operations/operations.ts';
import { causeOf } from '../../../support/book.ts';
import { refusalCode, untilPasses } from '../../../support/eventually.ts';
import {
  poison,
  type ReadModelKit,
  readModelKit,
  takeLease,
  tallies,
  undecodable,
} from '../../../support/read-model-kit.ts';

const at = (tag: string) => ({ projection: 'tallies', tag });

/** Starts runners and ends them after the test; `end` ends one early and waits for it. */
const running = (() => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });
  return (runner: ProjectionRunner): (() => Promise<void>) => {
    const stopping = new AbortController();
    const work = runner.run(stopping.signal);
    const end = async (): Promise<void> => {
      stopping.abort();
      await work;
    };
    ends.push(end);
    return end;
  };
})();

const answered = (kit: ReadModelKit, tag: string, expected: readonly string[] | undefined) =>
  untilPasses(async () => expect(await kit.tally('acme', at(tag))).to.deep.equal(expected));
const active = (kit: ReadModelKit, tag: string) =>
  untilPasses(async () =>
    expect(await kit.store.activeGeneration('tallies')).to.deep.equal({ active: tag, building: undefined }),
  );

describe('a projection runner', () => {
  let kit: ReadModelKit;
  beforeEach(async () => {
    poison.active = true;
    kit = await readModelKit();
    await kit.write('acme', 'a1');
  });
  afterEach(() => kit.store.close());

  it('activates the first generation at once and folds new events', async () => {
    running(kit.runner());
    await active(kit, 'v1');
    await answered(kit, 'v1', ['a1']);
    await kit.write('acme', 'a2');
    await answered(kit, 'v1', ['a1', 'a2']);
  });

  /** Appends an event that the projection does not fold, and waits until the stored checkpoint has reached it. */
  const passOther = async (): Promise<void> => {
    await kit.node.commands.execute({
      tenantId: 'acme',
      type: { category: 'other', stateVersion: 1, initial: null, evolve: (state: null) => state },
      id: 'x',
      cause: causeOf('x'),
      decide: () => [{ type: 'BookReopened', data: {} }],
    });
    const end = await kit.events.end();
    await untilPasses(async () => expect((await kit.store.state(at('v1'))).checkpoint).to.equal(end));
  };

  it('stores its checkpoint soon, also without events to fold', async () => {
    running(kit.runner());
    await answered(kit, 'v1', ['a1']);
    await passOther();
  });

  it('stores its checkpoint after a failure, also when no event follows', async () => {
    let failures = 0;
    const shaky: ReadStore = {
      ...kit.store,
      commit: (batch) => {
        if (batch.writes.length > 0 || failures > 0) return kit.store.commit(batch);
        failures += 1;
        return Promise.reject(new Error('no disk'));
      },
    };
    running(kit.runner({ store: shaky }));
    await answered(kit, 'v1', ['a1']);
    await passOther();
    expect(failures).to.equal(1);
  });

  it('reports progress within a long batch while a reader waits, and skips nothing', async () => {
    for (let n = 2; n <= 450; n += 1) await kit.write('acme', `a${n}`);
    const expected = Array.from({ length: 450 }, (_, n) => `a${n + 1}`);
    const seen = new Set<string>();
    const runner = kit.runner({ onProgress: ({ checkpoint }) => seen.add(checkpoint ?? '') });
    runner.countReader(true);
    running(runner);
    await answered(kit, 'v1', expected);
    expect([...seen].filter((checkpoint) => checkpoint !== '')).to.have.length.at.least(3);
  }).timeout(20_000);

  it('builds a higher version beside the old one, which stays active until the new one is complete', async () => {
    const end = running(kit.runner());
    await answered(kit, 'v1', ['a1']);
    await end();
    // Another owner holds the new generation’s lease, so that its building can be observed.
    const held = await takeLease(kit.store, at('v2'), 'somebody');
    running(kit.runner({ version: 2, name: 'new', retirementMs: 50 }));
    await untilPasses(async () =>
      expect(await kit.store.activeGeneration('tallies')).to.deep.equal({ active: 'v1', building: 'v2' }),
    );
    expect(await kit.tally('acme', at('v1'))).to.deep.equal(['a1']);
    await kit.store.releaseLease(held);
    await active(kit, 'v2');
    expect(await kit.tally('acme', at('v2'))).to.deep.equal(['a1']);
  });

  it('drops the old version after its retirement when the process that folded it is gone', async () => {
    const end = running(kit.runner());
    await answered(kit, 'v1', ['a1']);
    await end();
    running(kit.runner({ version: 2, name: 'new', formerMs: 50, cleanMs: 20 }));
    await active(kit, 'v2');
    await answered(kit, 'v1', undefined);
    expect((await kit.store.state(at('v1'))).checkpoint).to.equal(undefined);
  }).timeout(15_000);

  it('rebuilds the same version beside itself and drops the replaced one', async () => {
    const runner = kit.runner({ retirementMs: 50 });
    running(runner);
    await answered(kit, 'v1', ['a1']);
    expect(await runner.rebuild()).to.equal('v1.1');
    expect(await runner.rebuild(), 'asked twice, it is built once').to.equal('v1.1');
    await active(kit, 'v1.1');
    // The follower of the replaced generation notices the replacement at the next event.
    await kit.write('acme', 'a2');
    await answered(kit, 'v1.1', ['a1', 'a2']);
    await answered(kit, 'v1', undefined);
    expect(await runner.rebuild()).to.equal('v1.2');
    await active(kit, 'v1.2');
    await answered(kit, 'v1.2', ['a1', 'a2']);
  }).timeout(15_000);

  it('keeps running when a replaced generation cannot be dropped', async () => {
    const store: ReadStore = { ...kit.store, drop: () => Promise.reject(new Error('no disk')) };
    const runner = kit.runner({ retirementMs: 20, store });
    running(runner);
    await answered(kit, 'v1', ['a1']);
    await runner.rebuild();
    await active(kit, 'v1.1');
    await kit.write('acme', 'a2');
    await untilPasses(() =>
      expect(kit.node.logger.lines.map((line) => line.message)).to.include(
        'a replaced generation could not be dropped',
      ),
    );
    await answered(kit, 'v1.1', ['a1', 'a2']);
  }).timeout(15_000);

  it('of an older build neither folds nor rebuilds a newer build’s generations', async () => {
    await kit.store.prepare(at('v2'), tallies(2).collections);
    await kit.store.setActiveGeneration('tallies', { active: 'v2', building: undefined });
    const old = kit.runner();
    running(old);
    expect(await refusalCode(old.rebuild())).to.equal('conflict');
    await kit.write('acme', 'a2');
    running(kit.runner({ version: 2, name: 'new' }));
    await answered(kit, 'v2', ['a1', 'a2']);
    await active(kit, 'v2');
    expect(await kit.tally('acme', at('v1'))).to.equal(undefined);
  });

  it('of an older build continues its own generation, which is dropped once that runner has ended', async () => {
    const endOld = running(kit.runner());
    await answered(kit, 'v1', ['a1']);
    running(kit.runner({ version: 2, name: 'new', formerMs: 50, cleanMs: 20 }));
    await active(kit, 'v2');
    await kit.write('acme', 'a2');
    for (const tag of ['v1', 'v2']) await answered(kit, tag, ['a1', 'a2']);
    await endOld();
    await answered(kit, 'v1', undefined);
    await answered(kit, 'v2', ['a1', 'a2']);
    expect(await kit.store.generations('tallies')).to.deep.equal(['v2']);
  }).timeout(15_000);

  it('of an older build that comes back continues its own generation as long as it is stored', async () => {
    const endOld = running(kit.runner());
    await answered(kit, 'v1', ['a1']);
    await endOld();
    const endNew = running(kit.runner({ version: 2, name: 'new' }));
    await active(kit, 'v2');
    await endNew();
    await kit.write('acme', 'a2');
    running(kit.runner());
    await answered(kit, 'v1', ['a1', 'a2']);
    await active(kit, 'v2');
  }).timeout(15_000);

  it('takes over from a crashed process', async () => {
    let dead = false;
    const mortal: ReadStore = {
      ...kit.store,
      acquireLease: (...args) => (dead ? new Promise(() => undefined) : kit.store.acquireLease(...args)),
      releaseLease: async (lease) => (dead ? undefined : kit.store.releaseLease(lease)),
      commit: (batch) => (dead ? new Promise(() => undefined) : kit.store.commit(batch)),
    };
    const stopping = new AbortController();
    void kit.runner({ name: 'first', store: mortal }).run(stopping.signal);
    await answered(kit, 'v1', ['a1']);
    const second = kit.runner({ name: 'second' });
    running(second);
    dead = true;
    await kit.write('acme', 'a2');
    await answered(kit, 'v1', ['a1', 'a2']);
    expect(second.folds('v1')).to.equal(true);
    stopping.abort();
  });

  it('keeps folding when the read store fails at times', async () => {
    let calls = 0;
    const shaky: ReadStore = {
      ...kit.store,
      commit: (batch) => (++calls % 3 === 0 ? Promise.reject(new Error('no disk')) : kit.store.commit(batch)),
    };
    running(kit.runner({ store: shaky }));
    const names = ['a1'];
    for (let n = 2; n < 12; n += 1) {
      names.push(`a${n}`);
      await kit.write('acme', `a${n}`);
      await answered(kit, 'v1', names);
    }
  });

  const askRetry = (name: string) =>
    kit.node.commands.execute({
      tenantId: 'platform',
      type: { category: 'operations', stateVersion: 1, initial: null, evolve: (state: null) => state },
      id: 'projections',
      cause: causeOf(name),
      decide: () => requestRetry(name, 'acme'),
    });

  it('retries a parked tenant on request in the log', async () => {
    const runner = kit.runner();
    running(runner);
    await kit.write('acme', 'a2', 'poison');
    await kit.write('beta', 'b1');
    await untilPasses(() => expect(runner.isParked('v1', 'acme')).to.equal(true));
    const [status] = await runner.status();
    expect(status).to.deep.include({ name: 'tallies', generation: 'v1', state: 'active' });
    expect(status?.parked.map((parked) => parked.tenant)).to.deep.equal(['acme']);
    poison.active = false;
    await askRetry('another projection');
    expect(runner.isParked('v1', 'acme')).to.equal(true);
    await askRetry('tallies');
    await answered(kit, 'v1', ['a1', 'a2']);
    await untilPasses(async () => expect((await runner.status())[0]?.parked).to.deep.equal([]));
  });

  it('goes on after a requested retry that cannot be read, and logs it', async () => {
    const runner = kit.runner();
    running(runner);
    const request = { ...undecodable(randomUUID()), type: 'ProjectionRetryRequested' };
    await kit.events.append('platform.operations-projections', 'no_stream', [request]);
    await kit.write('acme', 'a2');
    await answered(kit, 'v1', ['a1', 'a2']);
    expect(kit.node.logger.lines.map(({ level }) => level)).to.deep.equal(['error']);
  });

  it('repeats a requested retry that a failure of the store has cut off', async () => {
    let failures = 0;
    const shaky: ReadStore = {
      ...kit.store,
      unpark: (...args) => {
        failures += 1;
        return failures === 1 ? Promise.reject(new Error('no disk')) : kit.store.unpark(...args);
      },
    };
    const runner = kit.runner({ store: shaky });
    running(runner);
    await kit.write('acme', 'a2', 'poison');
    await untilPasses(() => expect(runner.isParked('v1', 'acme')).to.equal(true));
    poison.active = false;
    await askRetry('tallies');
    await untilPasses(async () => expect((await runner.status())[0]?.parked).to.deep.equal([]));
    await kit.write('acme', 'a3');
    await answered(kit, 'v1', ['a1', 'a2', 'a3']);
    expect(failures).to.equal(2);
  });
});
