import { expect } from 'chai';
import { FairLimiter, type SlotLimits } from '../../../../application/core/concurrency/fair-limiter.ts';
import { severalTicks } from '../../../support/eventually.ts';

describe('slots', () => {
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
        await severalTicks(2);
      },
    };
  };

  it('are limited in total and per tenant', async () => {
    const { take, served, giveBack } = taking({ total: 4, perTenant: 2, reserved: 0 });
    for (let i = 0; i < 5; i += 1) take('a', '1');
    await severalTicks(2);
    expect(served).to.have.length(2);
    for (let i = 0; i < 5; i += 1) take('b', '1');
    take('c', '1');
    await severalTicks(2);
    expect(served).to.deep.equal(['a/1', 'a/1', 'b/1', 'b/1']);
    await giveBack();
    expect(served).to.have.length(5);
  });

  it('are reserved for a tenant that has none when others use the total', async () => {
    const { take, served, giveBack } = taking({ total: 4, perTenant: 4, reserved: 2 });
    for (let i = 0; i < 9; i += 1) take('a', '1');
    for (let i = 0; i < 3; i += 1) take('b', '1');
    take('c', '1');
    await severalTicks(2);
    expect(served).to.deep.equal(['a/1', 'a/1', 'a/1', 'a/1', 'b/1', 'b/1', 'c/1']);
    // While at least the total is taken, a tenant gets a slot only within its reserve.
    for (let i = 0; i < 3; i += 1) await giveBack();
    expect(served.slice(7)).to.deep.equal(['a/1']);
  });

  it('are free immediately only for a tenant that is below its limit and has no waiting call', async () => {
    const limiter = new FairLimiter({ total: 3, perTenant: 2, reserved: 0 });
    for (let i = 0; i < 3; i += 1) void limiter.take('a', '1');
    expect([limiter.isFree('a'), limiter.isFree('b')]).to.deep.equal([false, true]);
    const giveBack = await limiter.take('b', '1');
    expect(['a', 'b', 'c'].map((tenant) => limiter.isFree(tenant))).to.deep.equal([false, false, false]);
    giveBack();
    expect(['a', 'b', 'c'].map((tenant) => limiter.isFree(tenant))).to.deep.equal([false, true, true]);
  });

  it('rotate over tenants and over the queues of each', async () => {
    const { take, served, giveBack } = taking({ total: 1, perTenant: 1, reserved: 0 });
    take('a', '0');
    await severalTicks(2);
    for (let i = 0; i < 4; i += 1) take('a', '1');
    for (let i = 0; i < 2; i += 1) take('a', '2');
    for (let i = 0; i < 3; i += 1) take('b', '1');
    for (let i = 0; i < 9; i += 1) await giveBack();
    expect(served.slice(1)).to.deep.equal(['a/1', 'b/1', 'a/2', 'b/1', 'a/1', 'b/1', 'a/2', 'a/1', 'a/1']);
  });
});
