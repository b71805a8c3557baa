import { expect } from 'chai';
import { route } from '../../../api/http/route.ts';
import { busyFor } from '../../support/busy.ts';
import { gate, untilPasses } from '../../support/eventually.ts';
import { serve } from './support.ts';

const REQUESTS = 60;

describe('Reads that wait for one batch of events', () => {
  it('continue over several ticks', async () => {
    let waiting = 0;
    let handled = 0;
    const batch = gate();
    const slow = route({
      method: 'get',
      path: '/slow',
      operationId: 'slow',
      summary: 'Takes a while',
      description: 'A route of the tests.',
      tag: 'Tests',
      access: { kind: 'principals', kinds: ['user'] },
      reads: ['things'],
      responses: { 204: null },
      handle: async () => {
        busyFor(1);
        handled += 1;
        return { status: 204 };
      },
    });
    const waitForReads = (): Promise<void> => {
      waiting += 1;
      return batch.passed;
    };
    const server = await serve([slow], { waitForReads });
    try {
      // Callers of two tenants, since only 16 reads of one tenant are answered at a time.
      const callers = ['admin', 'other'];
      const asked = Array.from({ length: REQUESTS }, (_, nth) =>
        server.request('GET', '/slow', { as: callers[nth % callers.length] ?? '' }),
      );
      await untilPasses(() => expect(waiting).to.equal(REQUESTS));
      batch.open();
      let [most, before] = [0, 0];
      while (handled < REQUESTS) {
        await new Promise((resolve) => setImmediate(resolve));
        most = Math.max(most, handled - before);
        before = handled;
      }
      await Promise.all(asked);
      expect(most).to.be.below(12);
    } finally {
      await server.close();
    }
  });
});
