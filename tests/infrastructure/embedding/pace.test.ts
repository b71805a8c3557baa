import { expect } from 'chai';
import { Pace, restAfter } from '../../../infrastructure/embedding/pace.ts';
import { eventually } from '../../support/eventually.ts';

describe('what embeds in the background', () => {
  it('rests for three times as long as it took while the main thread is busy, and not otherwise', () => {
    expect(restAfter(100, 0.79)).to.equal(0);
    expect(restAfter(100, 0.8)).to.equal(300);
    expect(restAfter(400, 1)).to.equal(1200);
    expect(restAfter(60_000, 1), 'and never for long').to.equal(1500);
    expect(restAfter(0, 1)).to.equal(0);
  });

  it('goes on after its rest', async () => {
    let told = 0;
    const pace = new Pace(
      () => {
        told += 1;
        expect(pace.rests).to.equal(false);
      },
      () => 1,
    );
    pace.began();
    await new Promise((resolve) => setTimeout(resolve, 20));
    pace.ended();
    expect(pace.rests).to.equal(true);
    await eventually(() => expect(told).to.equal(1));
    pace.ended();
    expect(pace.rests, 'questions do not make it rest').to.equal(false);
  });

  it('is not told of the end of a rest once it is closed', async () => {
    let told = 0;
    const pace = new Pace(
      () => {
        told += 1;
      },
      () => 1,
    );
    pace.began();
    await new Promise((resolve) => setTimeout(resolve, 10));
    pace.ended();
    pace.close();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(told).to.equal(0);
  });

  it('has as much as it likes while the main thread has nothing to do', async () => {
    const pace = new Pace(() => undefined);
    pace.began();
    await new Promise((resolve) => setTimeout(resolve, 100));
    pace.ended();
    expect(pace.rests).to.equal(false);
  });
});
