import { expect } from 'chai';
import { BREAKS } from './breaks.ts';
import { found } from './try.ts';

/** The first seed of each defect nearly always finds it; the others are for a workload that has changed. */
const SEEDS = 200;

describe('The simulation of a broken product', () => {
  for (const each of BREAKS) {
    it(`fails when ${each.name}, and says how to play the failure again`, async () => {
      expect(await found(each, SEEDS)).to.match(/ fails: npm run simulate -- --seed \d+ --requests \d+$/m);
    }).timeout(1_200_000);
  }
});
