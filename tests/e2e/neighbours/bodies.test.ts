import { expect } from 'chai';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { BULK } from '../bulk/support.ts';
import { define } from '../entities/support.ts';
import { meanwhile } from './support.ts';

describe('A request body with millions of elements', () => {
  let world: World;
  let tenant: TestTenant;
  let entity: string;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    entity = await define(tenant.admin, { key: 'n', type: 'integer' });
  });
  after(endWorld);

  const preview = (selection: string) =>
    tenant.admin.api.post(`${BULK}/preview`, undefined, {
      raw: `{"entity_name":"${entity}","operation":"delete","op_params":{"kind":"delete"},"selection":{"kind":"ids","ids":${selection}}}`,
      headers: { 'content-type': 'application/json' },
    });

  for (const [kind, element] of [
    ['numbers', '1'],
    ['texts', '""'],
    ['lists', '[]'],
  ] as const) {
    it(`is refused at once, without memory for its elements: ${kind}`, async () => {
      const count = Math.trunc(8_000_000 / (element.length + 1));
      const selection = `[${`${element},`.repeat(count - 1)}${element}]`;
      const { result, blockedBy, grownMiB } = await meanwhile(world.server, () => preview(selection));
      expect(result.status).to.equal(400);
      expect(blockedBy).to.deep.equal([]);
      expect(grownMiB).to.be.below(200);
    });
  }
});
