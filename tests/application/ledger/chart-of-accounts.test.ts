import { expect } from 'chai';
import { fill, request, startLedger, TENANT } from './support.ts';

describe('The chart of accounts', () => {
  it('repeats its answer to a retried keyed request after changes of the code', async () => {
    const node = startLedger();
    await fill(node);
    const { chart } = node;
    const account = { code: 'A', name: 'First', type: 'Asset', active: true } as const;
    const opened = await chart.openAccount(TENANT, account, request({ name: 'open' }));
    const renamed = await chart.changeAccount(TENANT, 'A', { code: 'B' }, request({ name: 'rename' }));
    await chart.changeAccount(TENANT, 'B', { code: 'C' }, request());

    const again = await chart.openAccount(TENANT, account, request({ name: 'open' }));
    expect(again.account).to.deep.equal(opened.account);
    const renamedAgain = await chart.changeAccount(TENANT, 'A', { code: 'B' }, request({ name: 'rename' }));
    expect(renamedAgain.account).to.deep.equal(renamed.account);

    // The account's old code now belongs to another account.
    await chart.openAccount(TENANT, { ...account, name: 'Second' }, request());
    const third = await chart.openAccount(TENANT, account, request({ name: 'open' }));
    expect(third.account).to.deep.equal(opened.account);
  });
});
