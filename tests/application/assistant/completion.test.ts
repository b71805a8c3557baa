import { expect } from 'chai';
import { Completion } from '../../../application/assistant/completion.ts';
import { testLogger } from '../../support/fakes.ts';

describe('the completion of vectors', () => {
  it('serves a late tenant before the work of earlier tenants is done', async () => {
    const completed: string[] = [];
    const completion = new Completion({
      store: { withoutVectors: async () => [] },
      corpus: {
        complete: async (tenantId) => {
          await new Promise((resolve) => setImmediate(resolve));
          completed.push(tenantId);
        },
      },
      logger: testLogger(),
      isEntitled: async () => true,
    });
    const records = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ kind: 'entity_record' as const, id: `${n}` }));
    for (let n = 0; n < 10; n += 1) completion.add(`busy${n}`, records(100));
    completion.add('quiet', records(1));
    await completion.idle();
    expect(completed).to.have.length(1001);
    expect(completed.indexOf('quiet')).to.be.below(100);
  });
});
