import { expect } from 'chai';
import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import { Erasures } from '../../../application/core/privacy/erasures.ts';
import { Forgetting } from '../../../application/identity/forgetting.ts';
import { Identity } from '../../../application/identity/identity.ts';
import { causeOf } from '../../support/book.ts';
import { refusalCode } from '../../support/eventually.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import { memoryStores, type SharedStores, startNode } from '../../support/node.ts';

const ANN = { id: 'ann', email: 'ann@example.com', displayName: 'Ann', role: 'operator' } as const;

const nodeOn = (stores: SharedStores) => {
  const node = startNode(stores);
  const emailHash = (email: string): string => `hash-of-${email}`;
  const passwords = { hash: async (password: string) => password, verify: async () => false };
  const erasures = new Erasures({ ...node, store: node.keyStore });
  const identity = new Identity({ ...node, passwords, emailHash });
  const forgetting = new Forgetting({ ...node, erasures, emailHash });
  const context = (): RequestContext => ({
    cause: causeOf(node.ids.next()),
    priorAttempt: undefined,
    newId: () => node.ids.next(),
  });
  return {
    create: () => identity.createUser('acme', ANN, context()),
    get: () => identity.get('acme', 'ann'),
    rename: (displayName: string) => identity.changeUser('acme', 'ann', { displayName }, 'ben', context()),
    forget: () => forgetting.forget('acme', 'ann', 'ben', context()),
  };
};

describe('A person whom two nodes change', () => {
  it('is renamed to the name that this node has cached, although another node has changed it', async () => {
    const stores = memoryStores();
    const [here, there] = [nodeOn(stores), nodeOn(stores)];
    await here.create();
    await there.rename('Anna');
    expect((await here.rename('Ann')).user).to.include({ display_name: 'Ann' });
    expect(await nodeOn(stores).get()).to.include({ display_name: 'Ann' });
  });

  for (const change of ['rename', 'forget'] as const) {
    it(`is found at a node that has cached the id as unknown (${change})`, async () => {
      const stores = memoryStores();
      const [here, there] = [nodeOn(stores), nodeOn(stores)];
      expect(await refusalCode(here.get())).to.equal('not_found');
      await there.create();
      await here[change]('Anna');
      const { display_name, status } = await nodeOn(stores).get();
      expect([display_name, status]).to.deep.equal(
        change === 'rename' ? ['Anna', 'active'] : ['[erased]', 'deactivated'],
      );
    });
  }
});

describe('A person whose key is not in the restored key store', () => {
  it('can be renamed and forgotten, and shows what can no longer be opened as erased', async () => {
    const stores = memoryStores();
    await nodeOn(stores).create();
    const restored = nodeOn({ ...stores, keyStore: memoryKeyStore() });
    expect(await restored.get()).to.include({ email: '[erased]', display_name: '[erased]' });
    expect((await restored.rename('Anna')).user).to.include({ email: '[erased]', display_name: 'Anna' });
    expect(await restored.get()).to.include({ email: '[erased]', display_name: 'Anna' });
    await restored.forget();
    expect(await restored.get()).to.include({ display_name: '[erased]', status: 'deactivated' });
  });
});
