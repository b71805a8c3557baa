import { expect } from 'chai';
import { AppendGate } from '../../application/append-gate.ts';
import { StoreUnavailable, WrongExpectedRevision } from '../../application/ports/event-store.ts';
import { KeyRing } from '../../application/sealing.ts';
import { openMemoryEventStore } from '../../infrastructure/event-store/memory.ts';
import { systemClock, uuidV7Ids } from '../../infrastructure/identity/ids.ts';
import { memoryKeyStore } from '../support/fakes.ts';
import { MASTER_KEY } from '../support/node.ts';

const ids = uuidV7Ids(systemClock);
const event = () => ({ id: ids.next(), type: 'Noted', data: '{}', metadata: '{}' });

const open = () => {
  const events = openMemoryEventStore();
  const keyStore = memoryKeyStore();
  const steps: string[] = [];
  const watched = {
    ...keyStore,
    put: async (keys: Parameters<typeof keyStore.put>[0]) => {
      await keyStore.put(keys);
      steps.push(`keys ${keys.length}`);
    },
  };
  const appending = {
    ...events,
    append: (...given: Parameters<typeof events.append>) => {
      steps.push('append');
      return events.append(...given);
    },
  };
  return { events, keyStore, watched, appending, steps };
};

describe('The gate of appends', () => {
  it('puts the keys of all streams on disk in one go, before the first event', async () => {
    const { appending, watched, steps } = open();
    const keys = new KeyRing(watched, MASTER_KEY);
    const gate = new AppendGate(appending, keys, () => undefined);
    const key = (n: number) => keys.create(`acme/message-${n}`);
    await Promise.all([1, 2, 3].map((n) => gate.append(`acme.note-${n}`, 'no_stream', [event()], [key(n)])));
    expect(steps).to.deep.equal(['keys 3', 'append', 'append', 'append']);
  });

  it('lets appends wait for those that are about to come, and no longer than until the first who held them', async () => {
    const { appending, watched, steps } = open();
    const committed: number[] = [];
    const gate = new AppendGate(appending, new KeyRing(watched, MASTER_KEY), (count) =>
      committed.push(count),
    );
    const append = (n: number) => gate.append(`acme.note-${n}`, 'no_stream', [event()], []);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const [first, second] = [gate.hold(), gate.hold()];
    const one = append(1);
    await turn();
    const two = append(2);
    await turn();
    expect(steps).to.deep.equal([]);
    first();
    await Promise.all([one, two]);
    await turn();
    expect(committed).to.deep.equal([2]);
    const three = append(3);
    second();
    await three;
    await append(4);
    await turn();
    expect(committed).to.deep.equal([2, 1, 1]);
  });

  it('rejects those with keys when the key store is gone, appends nothing of theirs, and lets the others through', async () => {
    const { appending, keyStore, events } = open();
    const gone = { ...keyStore, put: () => Promise.reject(new StoreUnavailable('gone')) };
    const keys = new KeyRing(gone, MASTER_KEY);
    const gate = new AppendGate(appending, keys, () => undefined);
    const sealed = gate.append('acme.note-1', 'no_stream', [event()], [keys.create('acme/message-1')]);
    const plain = gate.append('acme.note-2', 'no_stream', [event()], []);
    expect(await sealed.catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
    expect(await plain).to.deep.include({ revision: 0 });
    expect(await events.readStream('acme.note-1')).to.deep.equal([]);
  });

  it('appends nothing under a key that another node made first', async () => {
    const { appending, watched, events } = open();
    await new KeyRing(watched, MASTER_KEY).persist([
      new KeyRing(watched, MASTER_KEY).create('acme/person-1'),
    ]);
    const keys = new KeyRing(watched, MASTER_KEY);
    const gate = new AppendGate(appending, keys, () => undefined);
    const beaten = gate.append('acme.user-1', 'no_stream', [event()], [keys.create('acme/person-1')]);
    expect(await beaten.catch((error: unknown) => error)).to.be.instanceOf(WrongExpectedRevision);
    expect(await events.readStream('acme.user-1')).to.deep.equal([]);
  });

  it('answers each append for itself', async () => {
    const { appending, watched } = open();
    const gate = new AppendGate(appending, new KeyRing(watched, MASTER_KEY), () => undefined);
    const [wrong, right] = await Promise.allSettled([
      gate.append('acme.note-1', 5, [event()], []),
      gate.append('acme.note-2', 'no_stream', [event()], []),
    ]);
    expect([wrong.status, right.status]).to.deep.equal(['rejected', 'fulfilled']);
  });
});
