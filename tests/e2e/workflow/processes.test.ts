import { expect } from 'chai';
import type { Server } from '../../support/server.ts';
import { endWorld, sharedPair, type TestTenant, type World } from '../../support/world.ts';
import { type Definition, defineEntity, JOBS, job, publish, readJob, startJob } from './support.ts';

const LOOP: Definition = {
  initial: 'a',
  states: [
    { key: 'a', label: 'A' },
    { key: 'b', label: 'B' },
  ],
  transitions: [
    { event_name: 'flip', from: 'a', to: 'b' },
    { event_name: 'flip', from: 'b', to: 'a' },
  ],
};

/** Decisions, section 6, Job: a lost race is a conflict at either process. */
describe('Jobs on two processes', () => {
  let world: World;
  let other: Server;
  let tenant: TestTenant;

  before(async () => {
    ({ world, other } = await sharedPair());
    tenant = await world.tenant();
    await defineEntity(tenant, 'switch', { definition: LOOP });
  });
  after(endWorld);

  const flip = (id: string, own = false) =>
    (own ? tenant.admin.api.at(other) : tenant.admin.api).post(`${JOBS}/${id}/transitions`, {
      event_name: 'flip',
    });

  it('count every transition answered with 200 once, and refuse the others with a conflict', async () => {
    let conflicts = 0;
    for (let round = 0; round < 12; round += 1) {
      const id = await startJob(tenant.admin, 'switch');
      const answers = await Promise.all([flip(id), flip(id, true), flip(id), flip(id, true)]);
      for (const { status, error } of answers) {
        if (status !== 200) expect([status, error]).to.deep.equal([409, 'conflict']);
      }
      const moved = answers.filter(({ status }) => status === 200).length;
      expect(moved).to.be.at.least(1);
      conflicts += answers.length - moved;
      const positions = answers.flatMap((answer) => answer.header('x-event-position') ?? []);
      const found = await readJob(tenant.admin, id, positions.toSorted().at(-1));
      expect(found).to.include({ version: moved + 1, state: moved % 2 === 0 ? 'a' : 'b' });
      expect(found.history).to.have.length(moved);
    }
    expect(conflicts).to.be.greaterThan(0);
  });

  it('do not refuse a transition that follows an answered one at the other process', async () => {
    const id = await startJob(tenant.admin, 'switch');
    for (let i = 0; i < 20; i += 1) {
      expect((await flip(id, i % 2 === 0)).as(job).version).to.equal(i + 2);
    }
  });

  it('run versions that the other process published', async () => {
    await publish(tenant.admin, 'switch_flow', {
      ...LOOP,
      transitions: [
        { event_name: 'flip', from: 'a', to: 'b' },
        { event_name: 'back', from: 'b', to: 'a' },
      ],
    });
    const id = await startJob(tenant.admin, 'switch');
    expect((await flip(id, true)).as(job)).to.include({ workflow_version: 2, state: 'b' });
    expect((await flip(id, true)).status).to.equal(409);
  });
});
