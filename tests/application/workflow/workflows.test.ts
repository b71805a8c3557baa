import { expect } from 'chai';
import { change, INVOICES } from '../../domain/workflow/samples.ts';
import { memoryStores } from '../../support/node.ts';
import { request, startJobs, TENANT } from './support.ts';

/** A definition that differs between versions. */
const numbered = (n: number) =>
  change({ states: INVOICES.states.map((each) => ({ ...each, label: `v${n}` })) });

describe('published workflows', () => {
  it('do not exist before the first publishing or for another tenant', async () => {
    const { workflows, publish } = startJobs();
    await workflows.create(TENANT, 'invoices', INVOICES, request());
    expect(await workflows.published(TENANT, 'invoices')).to.equal(undefined);
    expect(await workflows.published(TENANT, 'invoices', 1)).to.equal(undefined);
    await publish('invoices', INVOICES);
    expect((await workflows.published(TENANT, 'invoices'))?.initial).to.equal('draft');
    expect(await workflows.published('other', 'invoices')).to.equal(undefined);
    expect(await workflows.published(TENANT, 'others')).to.equal(undefined);
  });

  it('stay readable in every version, also on a node that has seen none', async () => {
    const stores = memoryStores();
    const { publish, workflows } = startJobs(stores);
    for (let n = 1; n <= 5; n += 1) {
      expect(await publish('invoices', numbered(n))).to.equal(n);
      // A draft in between is not a version.
      await workflows.save(TENANT, 'invoices', numbered(100 + n), request());
    }
    for (const node of [workflows, startJobs(stores).workflows]) {
      for (let n = 1; n <= 5; n += 1) {
        const version = await node.published(TENANT, 'invoices', n);
        expect([version?.version, version?.machine.definition]).to.deep.equal([n, numbered(n)]);
      }
      expect((await node.published(TENANT, 'invoices'))?.version).to.equal(5);
      for (const n of [0, 6, -1]) expect(await node.published(TENANT, 'invoices', n)).to.equal(undefined);
    }
  });

  it('are found by version right after another node published them', async () => {
    const stores = memoryStores();
    const [one, other] = [startJobs(stores), startJobs(stores)];
    await one.publish('invoices', numbered(1));
    expect((await other.workflows.published(TENANT, 'invoices'))?.version).to.equal(1);
    await one.publish('invoices', numbered(2));
    expect((await other.workflows.published(TENANT, 'invoices', 2))?.machine.definition).to.deep.equal(
      numbered(2),
    );
  });

  it('are found in their newest version right after another node published it', async () => {
    const stores = memoryStores();
    const [one, other] = [startJobs(stores), startJobs(stores)];
    await one.workflows.create(TENANT, 'invoices', INVOICES, request());
    expect(await other.workflows.published(TENANT, 'invoices')).to.equal(undefined);
    for (const n of [1, 2, 3]) {
      await one.publish('invoices', numbered(n));
      expect((await other.workflows.published(TENANT, 'invoices'))?.version).to.equal(n);
    }
  });

  it('get one version from ten concurrent requests', async () => {
    const { workflows } = startJobs();
    await workflows.create(TENANT, 'invoices', INVOICES, request());
    await Promise.all(Array.from({ length: 10 }, () => workflows.publish(TENANT, 'invoices', request())));
    expect((await workflows.published(TENANT, 'invoices'))?.version).to.equal(1);
  });
});
