import { expect } from 'chai';
import { randomName } from '../../support/server.ts';
import { forSuite } from '../../support/suite.ts';
import { startWorld } from '../../support/world.ts';
import { ENTITIES, entity } from '../entities/support.ts';
import { publish, put, WORKFLOWS, workflow } from '../workflow/support.ts';
import { numbers, pooled } from './busy-tenant.ts';
import { meanwhile } from './support.ts';

const USERS = 40;
const FIELDS = numbers(190).map((n) => ({
  key: `field_${n}`,
  label: `${n}`,
  type: 'integer',
  required: false,
}));
/** 500 transitions with a guard each. */
const definition = (extra: string) => ({
  initial: 's0',
  states: numbers(25).map((n) => ({ key: `s${n}`, label: `${n}` })),
  transitions: numbers(500).map((n) => ({
    event_name: `e${n}`,
    from: `s${n % 25}`,
    to: `s${(n + 1) % 25}`,
    guard: numbers(6)
      .map((k) => `record.field_${(n + k) % 190} > ${n}`)
      .join(' || '),
    guard_label: `${extra} ${n}`,
  })),
});

describe('publishing a workflow that many large entities use', () => {
  const here = forSuite(async () => {
    const world = await startWorld();
    return { world, busy: await world.tenant() };
  });

  it('checks the entities in slices, and holds no tick for long', async () => {
    const { world, busy } = here();
    const name = randomName('w');
    await publish(busy.admin, name, definition('a'));
    await pooled(numbers(USERS), 8, async () => {
      const body = { name: randomName('e'), label: 'Large', fields: FIELDS, workflow: name };
      (await busy.admin.api.post(ENTITIES, body)).as(entity, 201);
    });
    (await put(busy.admin, `${WORKFLOWS}/${name}`, definition('b'))).as(workflow);
    const { result, blockedBy } = await meanwhile(world.server, () =>
      busy.admin.api.post(`${WORKFLOWS}/${name}/publish`),
    );
    expect(result.as(workflow).version).to.equal(2);
    expect(blockedBy).to.deep.equal([]);
  }).timeout(300_000);
});
