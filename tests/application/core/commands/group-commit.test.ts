import { expect } from 'chai';
import { GroupCommit } from '../../../../application/core/commands/group-commit.ts';
import { KeyRing } from '../../../../application/core/privacy/key-ring.ts';
import { nodeTimers, useTimers } from '../../../../application/core/runtime/timers.ts';
import { StoreUnavailable, WrongExpectedRevision } from '../../../../application/ports/event-store.ts';
import { systemClock, uuidV7Ids } from '../../../../infrastructure/identity/ids.ts';
import { rejection, severalTicks } from '../../../support/eventually.ts';
import { memoryKeyStore, silentMetrics } from '../../../support/fakes.ts';
import { openMemoryEventStore } from '../../../support/memory-event-store.ts';
import { MASTER_KEY } from '../../../support/node.ts';

const ids = uuidV7Ids(systemClock);
const event = () => ({ id: ids.next(), type: 'Noted', data: '{}', metadata: '{}' });
const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve));
const noteOn = (n: number, expected: 'no_stream' | number = 'no_stream') =>
  ({ stream: `acme.note-${n}`, expected, events: [event()] }) as const;

const open = (options: { keyStore?: ReturnType<typeof memoryKeyStore> } = {}) => {
  const events = openMemoryEventStore();
  const keyStore = options.keyStore ?? memoryKeyStore();
  const steps: string[] = [];
  const appended: number[] = [];
  const keys = new KeyRing(
    {
      ...keyStore,
      put: async (given) => {
        await keyStore.put(given);
        steps.push(`keys ${given.length}`);
      },
    },
    MASTER_KEY,
  );
  const group = new GroupCommit({
    events: {
      ...events,
      append: (...given) => {
        steps.push('append');
        return events.append(...given);
      },
    },
    keys,
    metrics: { ...silentMetrics, eventsAppended: (count) => void appended.push(count) },
  });
  return { group, events, keys, keyStore, steps, appended };
};

/** Starts a round; `arrivals[n]` further commands arrive in tick n. Returns the round’s last tick and its size. */
const decided = async (group: GroupCommit, arrivals: readonly number[] = []) => {
  let commands = 1;
  let tick = 0;
  let found: { commands: number; tick: number } | undefined;
  group.arrived(1);
  group.schedule(() => {
    found = { commands, tick };
  });
  while (found === undefined) {
    const more = arrivals[tick] ?? 0;
    commands += more;
    if (more > 0) group.arrived(more);
    tick += 1;
    await nextTick();
  }
  return found;
};

/** Runs a round of `commands`, each with one append. */
const commit = async (group: GroupCommit, commands: number) => {
  const appends: Promise<unknown>[] = [];
  group.arrived(commands);
  await new Promise<void>((resolve) => {
    for (let n = 0; n < commands; n += 1) {
      group.schedule(() => {
        appends.push(group.append(noteOn(n), []));
        if (n === commands - 1) resolve();
      });
    }
  });
  await Promise.allSettled(appends);
};

describe('group commit', () => {
  it('decides a lone command at the end of the tick in which it arrived', async () => {
    expect(await decided(open().group)).to.deep.equal({ commands: 1, tick: 1 });
  });

  it('keeps a round open while further commands arrive', async () => {
    // The clock stands still, so that the time limit of a round cannot end the round on a busy machine.
    const restore = useTimers({ ...nodeTimers, monotonic: () => 0 });
    try {
      expect(await decided(open().group, [3, 4])).to.deep.include({ commands: 8 });
    } finally {
      restore();
    }
  });

  it('after a busy round, keeps the next one open about as long as the last commit took', async () => {
    const keyStore = memoryKeyStore();
    const { group, keys } = open({
      keyStore: {
        ...keyStore,
        put: async (given) => {
          const until = performance.now() + 3;
          while (performance.now() < until) await nextTick();
          return keyStore.put(given);
        },
      },
    });
    group.arrived(30);
    await new Promise<void>((resolve) => {
      group.schedule(
        () => void group.append(noteOn(0), [keys.create('acme/person-1')]).then(() => resolve()),
      );
    });
    await severalTicks();
    const began = performance.now();
    await decided(group);
    expect(performance.now() - began).to.be.greaterThan(1.9);
  });

  it('does not wait after a small round', async () => {
    const { group } = open();
    await commit(group, 2);
    expect(await decided(group)).to.deep.equal({ commands: 1, tick: 1 });
  });

  it('decides a full round immediately', async () => {
    const { group } = open();
    await commit(group, 30);
    expect(await decided(group, [400, 400, 400])).to.deep.include({ tick: 1 });
  });

  it('appends in the tick of its decisions', async () => {
    const { group, steps } = open();
    group.arrived(1);
    const inNextTick = await new Promise<readonly string[]>((resolve) => {
      group.schedule(() => {
        setImmediate(() => resolve([...steps]));
        void Promise.resolve().then(() => group.append(noteOn(0), []));
      });
    });
    expect(inNextTick).to.deep.equal(['append']);
  });

  it('stores the keys of all streams together before the first event', async () => {
    const { group, keys, steps } = open();
    await Promise.all([1, 2, 3].map((n) => group.append(noteOn(n), [keys.create(`acme/person-${n}`)])));
    expect(steps).to.deep.equal(['keys 3', 'append', 'append', 'append']);
  });

  it('holds appends until all decisions of a call have started, and counts their events together', async () => {
    const { group, steps, appended } = open();
    const appends: Promise<unknown>[] = [];
    const seen: number[] = [];
    const decisions = Array.from({ length: 80 }, (_, n) => () => {
      seen.push(steps.length);
      appends.push(group.append(noteOn(n), []));
    });
    await group.decideAll(decisions);
    await Promise.all(appends);
    await nextTick();
    expect(Math.max(...seen), 'nothing is appended while some are undecided').to.equal(0);
    expect(appended).to.deep.equal([80]);
  });

  it('flushes appends when one call ends, even while another call still decides', async () => {
    const { group, appended } = open();
    const many = Array.from({ length: 320 }, () => () => undefined);
    const others = group.decideAll(many);
    const append = group.append(noteOn(1), []);
    await group.decideAll([]);
    await append;
    await nextTick();
    expect(appended).to.deep.equal([1]);
    await others;
  });

  it('rejects appends whose keys cannot be stored, and lets the others through', async () => {
    const keyStore = memoryKeyStore();
    const gone = { ...keyStore, put: () => Promise.reject(new StoreUnavailable('gone')) };
    const { group, keys, events } = open({ keyStore: gone });
    const sealed = group.append(noteOn(1), [keys.create('acme/person-1')]);
    const plain = group.append(noteOn(2), []);
    expect(await rejection(sealed)).to.be.instanceOf(StoreUnavailable);
    expect(await plain).to.deep.include({ revision: 0 });
    expect(await events.readStream('acme.note-1')).to.deep.equal([]);
  });

  it('appends nothing under a key that another node stored first', async () => {
    const { group, keys, keyStore, events } = open();
    const other = new KeyRing(keyStore, MASTER_KEY);
    await other.persist([other.create('acme/person-1')]);
    const beaten = group.append(noteOn(1), [keys.create('acme/person-1')]);
    expect(await rejection(beaten)).to.be.instanceOf(WrongExpectedRevision);
    expect(await events.readStream('acme.note-1')).to.deep.equal([]);
  });

  it('answers each append separately', async () => {
    const { group, appended } = open();
    const [wrong, right] = await Promise.allSettled([
      group.append(noteOn(1, 5), []),
      group.append(noteOn(2), []),
    ]);
    await nextTick();
    expect([wrong.status, right.status]).to.deep.equal(['rejected', 'fulfilled']);
    expect(appended, 'what was refused is not counted').to.deep.equal([1]);
  });
});
