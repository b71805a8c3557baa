import { expect } from 'chai';
import { WaitingReaders } from '../../../../application/core/projections/waiting-readers.ts';

describe('Waiting readers of a thread', () => {
  it('count until half a second after the last wait', () => {
    let now = 0;
    const pressure = new WaitingReaders(() => now);
    expect(pressure.isOn).to.equal(false);
    pressure.note();
    now = 499;
    expect(pressure.isOn).to.equal(true);
    pressure.note();
    now = 998;
    expect(pressure.isOn).to.equal(true);
    now = 999;
    expect(pressure.isOn).to.equal(false);
  });
});
