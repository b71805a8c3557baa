import { expect } from 'chai';
import { WaitingReaders } from '../../../../application/core/projections/waiting-readers.ts';

describe('The pressure on a thread that folds', () => {
  it('is on while somebody waits and half a second longer', () => {
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
