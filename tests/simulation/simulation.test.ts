import { expect } from 'chai';
import { run } from './run.ts';

/** Seeds that once failed come first; `npm run simulate -- --seeds 1000` runs more. */
const ONCE_FAILED: readonly number[] = [];
const SEEDS = Array.from({ length: 12 }, (_, at) => at + 1);

describe('The simulated system', () => {
  for (const seed of [...ONCE_FAILED, ...SEEDS]) {
    it(`keeps its promises under the faults of seed ${seed}`, async () => {
      const { faults, requests } = await run({ seed, requests: 60 });
      expect(faults).to.deep.equal([]);
      expect(requests).to.be.greaterThan(60);
    }).timeout(120_000);
  }

  it('plays the same run again for the same seed, whatever ran before', async () => {
    const first = await run({ seed: 21, requests: 40 });
    await run({ seed: 22, requests: 20 });
    const second = await run({ seed: 21, requests: 40 });
    expect(second.trace).to.deep.equal(first.trace);
  }).timeout(120_000);
});
