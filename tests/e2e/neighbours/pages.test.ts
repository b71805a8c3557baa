import { expect } from 'chai';
import { z } from 'zod';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { ENTITIES } from '../entities/support.ts';
import { WORKFLOWS } from '../workflow/support.ts';
import { meanwhile } from './support.ts';

const MIB = 1024 * 1024;
const names = z.array(z.looseObject({ name: z.string() }));

describe('Pages of large things', function () {
  this.timeout(60_000);
  let world: World;
  let tenant: TestTenant;
  const COUNT = 40;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    const options = Array.from({ length: 200 }, (_, nth) => `${nth} ${'x'.repeat(180)}`);
    for (let nth = 0; nth < COUNT; nth += 1) {
      const made = await tenant.admin.api.post(ENTITIES, {
        name: `large_${nth}`,
        label: 'Large',
        fields: ['a', 'b', 'c'].map((key) => ({ key, label: key, type: 'enum', options })),
      });
      if (made.status !== 201) throw new Error(made.text);
      const states = Array.from({ length: 100 }, (_, at) => ({ key: `s${at}`, label: 'x'.repeat(190) }));
      const transitions = Array.from({ length: 99 }, (_, at) => ({
        event_name: `go_${at}`,
        from: `s${at}`,
        to: `s${at + 1}`,
        guard: `record.x != "${'g'.repeat(400)}"`,
      }));
      const flow = await tenant.admin.api.post(WORKFLOWS, {
        name: `flow_${nth}`,
        initial: 's0',
        states,
        transitions,
      });
      if (flow.status !== 201) throw new Error(flow.text);
    }
  });
  after(endWorld);

  for (const path of [ENTITIES, WORKFLOWS]) {
    it(`end after about 1 MiB, and lead to the next: ${path}`, async () => {
      const { result, blockedBy } = await meanwhile(world.server, async () => {
        const found: string[] = [];
        const sizes: number[] = [];
        let next: string | undefined = `${path}?limit=200`;
        while (next !== undefined) {
          const answer = await tenant.admin.api.get(next);
          found.push(...answer.as(names).map(({ name }) => name));
          sizes.push(answer.text.length);
          next = /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
        }
        return { found, sizes };
      });
      expect(new Set(result.found).size).to.equal(COUNT);
      expect(result.found).to.have.length(COUNT);
      expect(result.sizes.length).to.be.at.least(3);
      expect(Math.max(...result.sizes)).to.be.below(1.5 * MIB);
      expect(blockedBy).to.deep.equal([]);
    });
  }
});
