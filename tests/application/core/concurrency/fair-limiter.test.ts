import { expect } from 'chai';
import { FairLimiter, type SlotLimits } from '../../../../application/core/concurrency/fair-limiter.ts';
import { severalTurns } from '../../../support/eventually.ts';

describe('turns', () => {
  const taking = (limits: SlotLimits) => {
    const limiter = new FairLimiter(limits);
    const served: string[] = [];
    const open: (() => void)[] = [];
    const take = (tenant: string, queue: string): void => {
      void limiter.take(tenant, queue).then((giveBack) => {
        served.push(`${tenant}/${queue}`);
        open.push(giveBack);
      });
    };
    return {
      take,
      served,
      giveBack: async () => {
        open.shift()?.();
        await severalTurns(2);
      },
    };
  };

  it('are so many at once and no more, in all and for each tenant', async () => {
    const { take, served, giveBack } = taking({ total: 4, perTenant: 2, reserved: 0 });
    for (let i = 0; i < 5; i += 1) take('a', '1');
    await severalTurns(2);
    expect(served).to.have.length(2);
    for (let i = 0; i < 5; i += 1) take('b', '1');
    take('c', '1');
    await severalTurns(2);
    expect(served).to.deep.equal(['a/1', 'a/1', 'b/1', 'b/1']);
    await giveBack();
    expect(served).to.have.length(5);
  });

  it('are there for a tenant that has none while others have taken all', async () => {
    const { take, served, giveBack } = taking({ total: 4, perTenant: 4, reserved: 2 });
    for (let i = 0; i < 9; i += 1) take('a', '1');
    for (let i = 0; i < 3; i += 1) take('b', '1');
    take('c', '1');
    await severalTurns(2);
    expect(served).to.deep.equal(['a/1', 'a/1', 'a/1', 'a/1', 'b/1', 'b/1', 'c/1']);
    // As long as more are out than there are in all, nobody has more than what is reserved.
    for (let i = 0; i < 3; i += 1) await giveBack();
    expect(served.slice(7)).to.deep.equal(['a/1']);
  });

  it('are taken at once by a tenant with room while another waits at its limit, and by nobody who would have to wait', async () => {
    const limiter = new FairLimiter({ total: 3, perTenant: 2, reserved: 0 });
    for (let i = 0; i < 3; i += 1) void limiter.take('a', '1');
    expect([limiter.isFree('a'), limiter.isFree('b')]).to.deep.equal([false, true]);
    const giveBack = await limiter.take('b', '1');
    expect(['a', 'b', 'c'].map((tenant) => limiter.isFree(tenant))).to.deep.equal([false, false, false]);
    giveBack();
    expect(['a', 'b', 'c'].map((tenant) => limiter.isFree(tenant))).to.deep.equal([false, true, true]);
  });

  it('go round tenants, and round the subscriptions of each', async () => {
    const { take, served, giveBack } = taking({ total: 1, perTenant: 1, reserved: 0 });
    take('a', '0');
    await severalTurns(2);
    for (let i = 0; i < 4; i += 1) take('a', '1');
    for (let i = 0; i < 2; i += 1) take('a', '2');
    for (let i = 0; i < 3; i += 1) take('b', '1');
    for (let i = 0; i < 9; i += 1) await giveBack();
    expect(served.slice(1)).to.deep.equal(['a/1', 'b/1', 'a/2', 'b/1', 'a/1', 'b/1', 'a/2', 'a/1', 'a/1']);
  });
});
