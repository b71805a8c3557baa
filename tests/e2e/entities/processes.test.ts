import { expect } from 'chai';
import { untilPasses } from '../../support/eventually.ts';
import type { Server } from '../../support/server.ts';
import { endWorld, type Member, sharedPair, type World } from '../../support/world.ts';
import {
  at,
  change,
  create,
  define,
  ENTITIES,
  entity,
  fieldsOf,
  pointing,
  type Record,
  records,
  remove,
} from './support.ts';

describe('Records of two processes on one data folder', () => {
  let world: World;
  let other: Server;
  let here: Member;
  let there: Member;

  before(async () => {
    ({ world, other } = await sharedPair());
    const tenant = await world.tenant();
    here = tenant.admin;
    there = { ...here, api: here.api.at(other) };
  });
  after(endWorld);

  const FIELDS = ['goes', 'clears', 'keeps'] as const;
  const defineNodes = async (): Promise<string> => {
    const name = await define(here);
    const fields = fieldsOf(
      pointing('goes', name, 'cascade'),
      pointing('clears', name, 'clear'),
      pointing('keeps', name, 'restrict'),
    );
    (await here.api.patch(`${ENTITIES}/${name}`, { fields })).as(entity);
    return name;
  };
  const seenAt = (who: Member, name: string, filter: string, after: string) =>
    who.api.get(`${at(name)}?limit=200&filter=${encodeURIComponent(filter)}`, {
      headers: { 'x-min-position': after },
    });

  it('never dangle, whichever process writes and deletes', async () => {
    const node = await defineNodes();
    for (let round = 0; round < 8; round += 1) {
      const target = await create(here, node);
      const seats: Record[] = [];
      for (let i = 0; i < 3; i += 1) seats.push(await create(there, node));
      const writing = seats.map((seat, i) =>
        change(round % 2 ? here : there, seat, { [FIELDS[i] ?? '']: target.id }),
      );
      const [deleted, ...written] = await Promise.all([remove(round % 2 ? there : here, target), ...writing]);
      expect([204, 409]).to.include(deleted.status);
      for (const { status } of written) expect([200, 422]).to.include(status);
      const filter = FIELDS.map((field) => `${field} == "${target.id}"`).join(' || ');
      const latest = [deleted, ...written].map((answer) => answer.header('x-event-position') ?? '');
      await untilPasses(async () => {
        const found = (await seenAt(here, node, filter, latest.sort().at(-1) || '0')).as(records);
        const expected = deleted.status === 204 ? 0 : written.filter(({ status }) => status === 200).length;
        expect(found).to.have.length(expected);
      });
    }
  }).timeout(60_000);

  it('follow a schema that the other process has narrowed', async () => {
    for (let round = 0; round < 4; round += 1) {
      const name = await define(here, { key: 'size', type: 'integer' });
      // In every other round a conflicting record is written during the change.
      const writing = Array.from({ length: 30 }, async (_, i) => {
        const size = i % 3 === 0 ? 1 : 100;
        if (size === 1 && round % 2 === 1) await new Promise((resolve) => setTimeout(resolve, 150 + i * 8));
        return (i % 2 ? here : there).api.post(at(name), { values: { size } });
      });
      const fields = fieldsOf({ key: 'size', type: 'integer', min: 50 });
      const [changed, ...written] = await Promise.all([
        there.api.patch(`${ENTITIES}/${name}`, { fields }),
        ...writing,
      ]);
      for (const { status } of written) expect([201, 409, 422]).to.include(status);
      const late = await here.api.post(at(name), { values: { size: 2 } });
      const answers = [...written, late].map((answer) => answer.header('x-event-position') ?? '');
      const small = (await seenAt(here, name, 'size < 50', answers.sort().at(-1) || '0')).as(records);
      if (changed.status === 200) {
        expect(small).to.deep.equal([]);
        expect(late.status).to.equal(422);
      } else {
        expect([changed.status, changed.error]).to.deep.equal([409, 'in_use']);
        expect(small).not.to.have.length(0);
      }
    }
  }).timeout(60_000);

  it('can be changed at both concurrently, and count every change', async () => {
    const name = await define(here, { key: 'size', type: 'integer' });
    const made = await create(here, name);
    await Promise.all(
      Array.from({ length: 30 }, (_, size) => change(size % 2 ? here : there, made, { size: size + 1 })),
    );
    const answer = await change(here, made, { size: -1 });
    expect(answer.json).to.have.property('version', 32);
  });
});
