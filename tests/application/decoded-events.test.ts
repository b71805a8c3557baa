import { expect } from 'chai';
import { DecodedEvent } from '../../application/decoded-events.ts';
import type { StoredEvent } from '../../application/ports/event-store.ts';
import { formatPosition } from '../../infrastructure/event-store/positions.ts';

const stored = (): StoredEvent => ({
  id: 'a',
  type: 'A',
  data: '{}',
  metadata: '{}',
  stream: 'acme.book-1',
  revision: 0,
  position: formatPosition(1),
});

describe('what events were decoded to', () => {
  it('is with the event, for whoever noted it, and is seen by nobody else', () => {
    const [event, twin] = [stored(), stored()];
    const [one, two] = [{}, {}];
    DecodedEvent.note(event, one, 'first');
    expect(DecodedEvent.of(event, one)).to.equal('first');
    expect(DecodedEvent.of(event, two), 'another codec').to.equal(undefined);
    expect(DecodedEvent.of(twin, one), 'another event that looks the same').to.equal(undefined);
    DecodedEvent.note(event, two, 'second');
    expect(DecodedEvent.of(event, two)).to.equal('second');
    expect(DecodedEvent.of(event, one)).to.equal(undefined);
    expect(event).to.deep.equal(twin);
    expect(Reflect.ownKeys(event)).to.deep.equal(Reflect.ownKeys(twin));
    expect(DecodedEvent.of(structuredClone(event), two)).to.equal(undefined);
  });

  it('is noted of an event that cannot be changed, too', () => {
    const event = Object.freeze(stored());
    DecodedEvent.note(event, event, 1);
    expect(DecodedEvent.of(event, event)).to.equal(1);
  });
});
