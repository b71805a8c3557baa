import { expect } from 'chai';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { systemClock } from '../../../infrastructure/identity/ids.ts';
import { memoryStores } from '../../support/node.ts';
import { principalOf, startSocketNode } from '../../support/socket-node.ts';

/** The rights of a new socket are checked again once it is registered. */
describe('A socket whose rights', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  const codeAfter = async (error: Error): Promise<number> => {
    let checks = 0;
    const here = await startSocketNode(memoryStores(), {
      authentication: {
        authenticate: async (token) => {
          checks += 1;
          if (checks > 1) throw error;
          return principalOf(token);
        },
        expiryOf: () => systemClock.now() + 3_600_000,
      },
    });
    ends.push(here.end);
    return (await (await here.connect('acme', 'bob')).closed).code;
  };

  it('were withdrawn during its handshake is closed with 4403', async () => {
    expect(await codeAfter(new DomainError('unauthenticated', 'The session has ended.'))).to.equal(4403);
  });

  it('cannot be checked again, as a store is unavailable, is closed with 1012: it may connect again', async () => {
    expect(await codeAfter(new StoreUnavailable('gone'))).to.equal(1012);
    expect(await codeAfter(new DomainError('unavailable', 'Try again.'))).to.equal(1012);
  });
});
