import { expect } from 'chai';
import { EmbeddingThrottle, restAfter } from '../../../infrastructure/embedding/throttle.ts';
import { untilPasses } from '../../support/eventually.ts';

describe('The throttle of background embedding', () => {
  it('pauses fifteen times as long as the work, only while the main thread is busy', () => {
    expect(restAfter(100, 0.79)).to.equal(0);
    expect(restAfter(100, 0.8)).to.equal(1500);
    expect(restAfter(200, 1)).to.equal(3000);
    expect(restAfter(60_000, 1), 'and never for long').to.equal(5000);
    expect(restAfter(0, 1)).to.equal(0);
  });

  it('continues after its rest', async () => {
    let told = 0;
    const pace = new EmbeddingThrottle(
      () => {
        told += 1;
        expect(pace.isResting).to.equal(false);
      },
      () => 1,
    );
    pace.began();
    await new Promise((resolve) => setTimeout(resolve, 20));
    pace.ended();
    expect(pace.isResting).to.equal(true);
    await untilPasses(() => expect(told).to.equal(1));
    pace.ended();
    expect(pace.isResting, 'questions do not make it rest').to.equal(false);
  });

  it('continues early when the main thread is idle', async () => {
    let looks = 0;
    let told = 0;
    const pace = new EmbeddingThrottle(
      () => {
        told += 1;
      },
      // Busy at the beginning and the end of the work, and at three checks of the pause; idle at the next.
      () => {
        looks += 1;
        return looks <= 5 ? 1 : 0.1;
      },
    );
    pace.began();
    await new Promise((resolve) => setTimeout(resolve, 400));
    pace.ended();
    await untilPasses(() => expect(told).to.equal(1));
    expect(looks, 'a whole rest has fifty looks').to.equal(6);
    expect(pace.isResting).to.equal(false);
  });

  it('does not call back after it is closed', async () => {
    let told = 0;
    const pace = new EmbeddingThrottle(
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

  it('does not rest while the main thread is idle', async () => {
    const pace = new EmbeddingThrottle(() => undefined);
    // A thread that waits for a processor counts as busy, so a single try depends on the machine.
    await untilPasses(async () => {
      pace.close();
      pace.began();
      await new Promise((resolve) => setTimeout(resolve, 100));
      pace.ended();
      expect(pace.isResting).to.equal(false);
    });
  });
});
