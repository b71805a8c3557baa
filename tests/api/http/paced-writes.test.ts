import { expect } from 'chai';
import { severalTicks } from '../../support/eventually.ts';
import { KNOWN, testRoutes } from './routes.ts';
import { serve } from './support.ts';

describe('A write of a tenant whose webhooks wait', () => {
  it('waits before it changes anything, while reads are answered', async () => {
    const effects: unknown[] = [];
    const asked: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const pace = (tenantId: string): Promise<void> => {
      asked.push(tenantId);
      return promise;
    };
    const server = await serve(testRoutes(effects), { pace });
    try {
      let isAnswered = false;
      const written = server
        .request('POST', '/api/v1/things', { as: 'admin', body: { title: 'A thing' } })
        .finally(() => {
          isAnswered = true;
        });
      expect((await server.request('GET', `/api/v1/things/${KNOWN}`, { as: 'admin' })).status).to.equal(200);
      await severalTicks();
      expect({ effects, isAnswered, asked: asked.length }).to.deep.equal({
        effects: [],
        isAnswered: false,
        asked: 1,
      });
      resolve();
      expect((await written).status).to.equal(201);
      expect(effects).to.have.length(1);
    } finally {
      await server.close();
    }
  });
});
