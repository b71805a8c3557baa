import { expect } from 'chai';
import { z } from 'zod';
import { randomName, type Server } from '../../support/server.ts';
import { validationFailed } from '../../support/shapes.ts';
import { endWorld, type Member, sharedPair, type World } from '../../support/world.ts';
import { type Definition, ENTITIES, FIELDS, JOBS, jobs, put, WORKFLOWS, workflow } from './support.ts';

const flow = (guard?: string): Definition => ({
  initial: 'a',
  states: [
    { key: 'a', label: 'A' },
    { key: 'b', label: 'B' },
  ],
  transitions: [{ event_name: 'go', from: 'a', to: 'b', ...(guard === undefined ? {} : { guard }) }],
});
const UNFIT = flow('record.zzz == "q"');
const ROUNDS = 6;

const record = z.looseObject({ id: z.string(), job_id: z.string() });
const link = z.looseObject({ token: z.string() });
const named = z.looseObject({ name: z.string() });

/** An answered write of one process applies at the other at once, without a position. */
describe('Workflows on two processes', () => {
  let world: World;
  let other: Server;
  let here: Member;
  let there: Member;

  before(async () => {
    ({ world, other } = await sharedPair());
    here = (await world.tenant()).admin;
    there = { ...here, api: here.api.at(other) };
  });
  after(endWorld);

  const fresh = () => randomName('w');
  const publishAt = (who: Member, name: string) => who.api.post(`${WORKFLOWS}/${name}/publish`);
  const published = async (): Promise<string> => {
    const name = fresh();
    (await here.api.post(WORKFLOWS, { name, ...flow() })).as(workflow, 201);
    (await publishAt(here, name)).as(workflow);
    return name;
  };
  const entity = async (own: object = {}): Promise<string> => {
    const name = fresh();
    const made = await here.api.post(ENTITIES, { name, label: name, fields: FIELDS, ...own });
    return made.as(named, 201).name;
  };

  it('are not published with a guard that does not fit an entity attached at the other process', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [name, made] = [await published(), await entity()];
      (await put(here, `${WORKFLOWS}/${name}`, UNFIT)).as(workflow);
      (await here.api.patch(`${ENTITIES}/${made}`, { workflow: name })).as(named);
      (await publishAt(there, name)).as(validationFailed, 400);
    }
  });

  it('are either published or attached when both happen at once', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [name, made] = [await published(), await entity()];
      (await put(here, `${WORKFLOWS}/${name}`, UNFIT)).as(workflow);
      const attaching = here.api.patch(`${ENTITIES}/${made}`, { workflow: name });
      const answers = await Promise.all([attaching, publishAt(round % 2 === 0 ? here : there, name)]);
      expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 400]);
    }
  });

  it('are not published with a field that is being removed', async () => {
    const name = await published();
    const made = await entity({ workflow: name });
    (await put(here, `${WORKFLOWS}/${name}`, flow('record.amount == 1'))).as(workflow);
    const removing = here.api.patch(`${ENTITIES}/${made}`, { fields: FIELDS.slice(0, 1) });
    // The later of the two requests is refused.
    const answers = await Promise.all([removing, publishAt(there, name)]);
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 400]);
  });

  it('are attached and started in the version just published at the other process', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [name, made] = [fresh(), await entity()];
      (await here.api.post(WORKFLOWS, { name, ...flow() })).as(workflow, 201);
      // The other process has read the draft.
      expect((await there.api.patch(`${ENTITIES}/${made}`, { workflow: name })).status).to.equal(422);
      (await publishAt(here, name)).as(workflow);
      (await there.api.patch(`${ENTITIES}/${made}`, { workflow: name })).as(named);
      (await put(here, `${WORKFLOWS}/${name}`, { ...flow(), initial: 'b', ...BACK })).as(workflow);
      (await publishAt(here, name)).as(workflow);
      const answer = await there.api.post(`${ENTITIES}/${made}/records`, { values: {} });
      const { job_id: id } = answer.as(record, 201);
      const begun = (await there.api.get(JOBS)).as(jobs).find((each) => each.id === id);
      expect(begun).to.include({ workflow_version: 2, state: 'b' });
    }
  });

  it('have links that the other process has just created', async () => {
    const made = await entity({ workflow: await published() });
    const { job_id: id } = (await here.api.post(`${ENTITIES}/${made}/records`, { values: {} })).as(
      record,
      201,
    );
    for (let round = 0; round < ROUNDS; round += 1) {
      const { token } = (await here.api.post(`${JOBS}/${id}/links`, { page_slug: 'p' })).as(link, 201);
      expect((await there.api.get(`/public/validate/${token}`)).status).to.equal(200);
    }
  });

  it('share entities: a reference can name an entity that the other process has just defined', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = fresh();
      expect((await there.api.get(`${ENTITIES}/${name}`)).status).to.equal(404);
      (await here.api.post(ENTITIES, { name, label: name, fields: FIELDS })).as(named, 201);
      const reference = { entity_name: name, on_delete: 'clear' };
      const fields = [{ key: 'p', label: 'p', type: 'reference', required: false, reference }];
      const pointing = fresh();
      (await there.api.post(ENTITIES, { name: pointing, label: pointing, fields })).as(named, 201);
    }
  });
});

const BACK = { transitions: [{ event_name: 'go', from: 'b', to: 'a' }] };
