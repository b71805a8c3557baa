import { expect } from 'chai';
import { change, INVOICES } from '../../domain/workflow/samples.ts';
import { memoryStores } from '../../support/node.ts';
import { request, startJobs, TENANT } from './support.ts';

/** A definition that tells its versions apart. */
const numbered = (n: number) =>
  change({ states: INVOICES.states.map((each) => ({ ...each, label: `v${n}` })) });

describe('published workflows', () => {
  it('are none before the first publishing, and of no other tenant', async () => {
    const { workflows, publish } = startJobs();
    await workflows.create(TENANT, 'invoices', INVOICES, request());
    expect(await workflows.published(TENANT, 'invoices')).to.equal(undefined);
    expect(await workflows.published(TENANT, 'invoices', 1)).to.equal(undefined);
    await publish('invoices', INVOICES);
    expect((await workflows.published(TENANT, 'invoices'))?.initial).to.equal('draft');
    expect(await workflows.published('other', 'invoices')).to.equal(undefined);
    expect(await workflows.published(TENANT, 'others')).to.equal(undefined);
  });

  it('keep every version readable, on a node that has seen none of it as well', async () => {
    const stores = memoryStores();
    const { publish, workflows } = startJobs(stores);
    for (let n = 1; n <= 5; n += 1) {
      expect(await publish('invoices', numbered(n))).to.equal(n);
      // A draft in between is no version.
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

  it('are found by version although another node published them a moment ago', async () => {
    const stores = memoryStores();
    const [one, other] = [startJobs(stores), startJobs(stores)];
    await one.publish('invoices', numbered(1));
    expect((await other.workflows.published(TENANT, 'invoices'))?.version).to.equal(1);
    await one.publish('invoices', numbered(2));
    expect((await other.workflows.published(TENANT, 'invoices', 2))?.machine.definition).to.deep.equal(
      numbered(2),
    );
  });

  it('are checked against every entity that runs the workflow', async () => {
    const node = startJobs();
    const { commands, states, events, codec } = node;
    const { Workflows } = await import('../../../application/workflows.ts');
    const workflows = new Workflows({
      commands,
      states,
      events,
      codec,
      entitiesUsing: async (tenantId, workflow) =>
        tenantId === TENANT && workflow === 'invoices'
          ? [
              { name: 'good', fields: { title: { type: 'text' }, amount: { type: 'integer' } } },
              { name: 'bad', fields: { title: { type: 'text' }, amount: { type: 'text' } } },
            ]
          : [],
    });
    await workflows.create(TENANT, 'invoices', INVOICES, request());
    const refused = await workflows.publish(TENANT, 'invoices', request()).then(
      () => undefined,
      (error: { details?: { issues?: { path: string; message: string }[] } }) => error.details?.issues,
    );
    expect(refused?.map(({ path }) => path)).to.deep.equal(['transitions.1.guard']);
    expect(refused?.[0]?.message).to.match(/^bad: /);
    await workflows.create(TENANT, 'others', INVOICES, request());
    expect((await workflows.publish(TENANT, 'others', request())).workflow.versions).to.have.length(1);
  });

  it('lets ten who publish at once make one version', async () => {
    const { workflows } = startJobs();
    await workflows.create(TENANT, 'invoices', INVOICES, request());
    await Promise.all(Array.from({ length: 10 }, () => workflows.publish(TENANT, 'invoices', request())));
    expect((await workflows.published(TENANT, 'invoices'))?.version).to.equal(1);
  });
});
