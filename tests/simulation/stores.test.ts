import { expect } from 'chai';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { rejection } from '../support/eventually.ts';
import { openMemoryEventStore } from '../support/memory-event-store.ts';
import { Dice } from './dice.ts';
import { type CallFault, Faults } from './faults.ts';
import { Fences } from './fences.ts';
import { HalfBatches } from './half-batches.ts';
import { eventsOf } from './stores.ts';
import { VirtualTime } from './virtual-time.ts';

const IDS = [1, 2].map((nth) => `00000000-0000-7000-8000-00000000000${nth}`);

/** Every append is given up and lands later. */
class LateAppends extends Faults {
  override ofCall(_store: string, method: string): CallFault {
    return method === 'append' ? 'lands later' : 'none';
  }
}

/** Appends two events to one stream, both given up, and reads it. @returns the ids of the events */
const readAfterLateAppends = async (seed: number): Promise<readonly string[]> => {
  const time = new VirtualTime();
  const route = {
    time,
    dice: new Dice(seed),
    faults: new LateAppends(1),
    fences: new Fences(() => time.now),
    halves: new HalfBatches(() => time.now),
    trace: () => undefined,
  };
  const node = {
    name: 'a',
    isAlive: true,
    diesAt: undefined,
    owner: { isAlive: true, stalledUntil: 0 },
    kill: () => undefined,
  };
  const events = eventsOf(openMemoryEventStore(), route, node);
  for (const id of IDS) {
    const event = { id, type: 'Happened', data: '{}', metadata: '{}' };
    const error = await time.until(rejection(events.append('t.thing-1', 'any', [event])));
    expect(error).to.be.instanceOf(StoreUnavailable);
  }
  return (await time.until(events.readStream('t.thing-1'))).map(({ id }) => id);
};

describe('A store of the simulation', () => {
  it('makes reads wait for all appends of a stream that were given up', async () => {
    for (let seed = 1; seed <= 10; seed += 1)
      expect(await readAfterLateAppends(seed), `seed ${seed}`).to.have.members(IDS);
  });
});
