import { expect } from 'chai';
import { WaitingReaders } from '../../../../application/core/projections/waiting-readers.ts';
import { useFakeClock } from '../../../support/fake-timers.ts';

describe('Waiting readers of a thread', () => {
  const clock = useFakeClock();

  it('count until half a second after the last wait', () => {
    const pressure = new WaitingReaders();
    expect(pressure.isOn).to.equal(false);
    pressure.note();
    clock.pass(499);
    expect(pressure.isOn).to.equal(true);
    pressure.note();
    clock.pass(499);
    expect(pressure.isOn).to.equal(true);
    clock.pass(1);
    expect(pressure.isOn).to.equal(false);
  });
});
