import { expect } from 'chai';
import { systemClock } from '../../../infrastructure/identity/ids.ts';
import { untilPasses } from '../../support/eventually.ts';
import { memoryStores } from '../../support/node.ts';
import { refusal } from '../../support/socket.ts';
import { principalOf, startSocketNode } from '../../support/socket-node.ts';

describe('Sockets', () => {
  it('are refused above the limits of a person and of a tenant, until one is closed', async () => {
    const here = await startSocketNode(memoryStores(), { socketLimits: { perUser: 2, perTenant: 3 } });
    const outcome = (tenant: string, user: string): Promise<string> =>
      here.connect(tenant, user).then(
        () => 'open',
        (error: unknown) => String(error),
      );
    try {
      const first = await here.connect('acme', 'ann');
      expect(await outcome('acme', 'ann')).to.equal('open');
      expect(await outcome('acme', 'ann'), 'a third of one person').to.contain('429');
      expect(await outcome('acme', 'bob')).to.equal('open');
      expect(await outcome('acme', 'cy'), 'a fourth of the tenant').to.contain('429');
      expect(await outcome('other', 'ann')).to.equal('open');
      first.close();
      await untilPasses(async () => expect(await outcome('acme', 'cy')).to.equal('open'));
    } finally {
      await here.end();
    }
  });

  it('above the limit are refused without a line in the impersonation log', async () => {
    const lines: number[] = [];
    const here = await startSocketNode(memoryStores(), {
      socketLimits: { perUser: 1, perTenant: 2 },
      appendLine: async ({ status }) => void lines.push(status),
      authentication: {
        authenticate: async (token) => ({ ...principalOf(token), impersonatedBy: 'root@example.com' }),
        expiryOf: () => systemClock.now() + 3_600_000,
      },
    });
    try {
      await here.connect('acme', 'ann');
      const refused = await refusal(here.server, here.token('acme', 'ann'));
      expect(refused).to.include({ status: 429, error: 'rate_limited' });
      expect(lines).to.deep.equal([101]);
    } finally {
      await here.end();
    }
  });
});
