import { expect } from 'chai';
import { sliceOwnerOf } from '../../../api/http/checks.ts';
import { timeSlices } from '../../../application/core/concurrency/time-slices.ts';
import { busyFor } from '../../support/busy.ts';
import { serve } from './support.ts';

/** Number of works of 5 ms, one for each tick: far more ticks than a request takes. */
const WORKS = 200;

describe('Public requests while others wait', () => {
  it('begin immediately for health, version and metrics, and in a time slice for the documentation', async () => {
    const server = await serve([]);
    try {
      let done = 0;
      const works = Array.from({ length: WORKS }, async () => {
        await timeSlices.of(sliceOwnerOf(undefined), 'test').next();
        busyFor(5);
        done += 1;
      });
      const doneAt = async (path: string): Promise<number> => {
        expect((await server.request('GET', path)).status).to.equal(200);
        return done;
      };
      const [document, ...watching] = await Promise.all(
        ['/docs', '/health/live', '/health/ready', '/version', '/metrics'].map(doneAt),
      );
      expect(document).to.equal(WORKS);
      for (const seen of watching) expect(seen).to.be.below(WORKS);
      await Promise.all(works);
    } finally {
      await server.close();
    }
  });
});
