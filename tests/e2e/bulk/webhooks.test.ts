import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { closeReceivers, type Receiver, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { create, define, pointing } from '../entities/support.ts';
import { deliveries, OPEN, paidTenant, subscribe } from '../webhooks/support.ts';
import { defineEntity } from '../workflow/support.ts';
import { Killer, rounds } from './kill-support.ts';
import {
  commit,
  committed,
  createMany,
  DELETE,
  edit,
  ended,
  type Operation,
  preview,
  transition,
} from './support.ts';

const ROWS = 30;
const TORN = 200;

describe('Webhooks of bulk operations', () => {
  let world: World;
  let tenant: TestTenant;
  let marks: string;

  before(async () => {
    world = await startWorld({ env: OPEN });
    tenant = await paidTenant(world);
    marks = await define(tenant.admin, { key: 'n', type: 'integer' });
  });
  afterEach(closeReceivers);
  after(endWorld);

  /** Events and records of all deliveries, once a last write is delivered: deliveries are made in log order. */
  const told = async (receiver: Receiver, hook: string): Promise<string[]> => {
    const { id } = await create(tenant.admin, marks);
    const isLast = () => receiver.received.some(({ envelope }) => envelope.data.entity_id === id);
    await eventually('the last delivery', isLast, 60_000);
    const isOver = async () => (await deliveries(tenant.admin, hook, 'limit=1&status=pending')).length === 0;
    await eventually('all deliveries', isOver, 60_000);
    // A kill may make the server send a request again, with the same id: this counts as one delivery.
    const bodies = new Map(receiver.received.map(({ envelope }) => [envelope.id, envelope]));
    const made = await deliveries(tenant.admin, hook, 'limit=200&status=delivered');
    expect(made.map((each) => each.id)).to.have.members([...bodies.keys()]);
    return [...bodies.values()]
      .filter(({ data }) => data.entity_name !== marks)
      .map(({ event, data }) => `${event} ${data.entity_id}`)
      .sort();
  };

  const each = (event: string, ids: readonly string[]): string[] => ids.map((id) => `${event} ${id}`);

  it('are sent once for each changed row, and for no other row', async () => {
    const entity = await define(tenant.admin, { key: 'n', type: 'integer' });
    const child = await define(
      tenant.admin,
      pointing('owned', entity, 'cascade'),
      pointing('loose', entity, 'clear'),
      pointing('kept', entity, 'restrict'),
    );
    const ids = await createMany(tenant.admin, entity, ROWS, (i) => ({ n: i % 10 }));
    const [owner, loose, kept] = ids;
    const owned = (await create(tenant.admin, child, { owned: owner })).id;
    const cleared = (await create(tenant.admin, child, { loose })).id;
    await create(tenant.admin, child, { kept });
    const flow = 'bulk_flow';
    await defineEntity(tenant, flow, {
      definition: {
        initial: 'a',
        states: [
          { key: 'a', label: 'A' },
          { key: 'b', label: 'B' },
        ],
        transitions: [{ event_name: 'go', from: 'a', to: 'b', guard: 'record.amount < 25' }],
      },
    });
    const jobs = await createMany(tenant.admin, flow, ROWS, (amount) => ({ title: 't', amount }));

    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    const run = async (name: string, operation: Operation, rows: readonly string[]) =>
      (await committed(tenant.admin, (await preview(tenant.admin, name, operation, rows)).id)).result;

    expect(await run(entity, edit({ n: 3 }), [...ids, randomUUID()])).to.include({
      succeeded: 27,
      skipped: 3,
      errored: 1,
    });
    const edited = ids.filter((_id, i) => i % 10 !== 3);
    expect(await told(receiver, hook.id)).to.deep.equal(each('entity.updated', edited).sort());

    expect(await run(flow, transition('go'), jobs)).to.include({ succeeded: 25, errored: 5 });
    const moved = jobs.slice(0, 25);
    const soFar = [...each('entity.updated', edited), ...each('job.transition', moved)];
    expect(await told(receiver, hook.id)).to.deep.equal(soFar.sort());
    const [one] = receiver.received.filter(({ envelope }) => envelope.event === 'job.transition');
    expect(one?.envelope.data).to.deep.include({
      entity_name: flow,
      from_state: 'a',
      to_state: 'b',
      event_name: 'go',
      actor: { kind: 'user', id: tenant.admin.id },
    });

    expect(await run(entity, DELETE, ids)).to.include({ succeeded: 29, errored: 1 });
    const gone = [...ids.filter((id) => id !== kept), owned];
    soFar.push(...each('entity.deleted', gone), ...each('entity.updated', [cleared]));
    expect(await told(receiver, hook.id)).to.deep.equal(soFar.sort());
  }).timeout(60_000);

  it('are sent once for each row after kill -9', async () => {
    const killer = new Killer(world, tenant);
    const entity = await define(tenant.admin, { key: 'n', type: 'integer' });
    const ids = await createMany(tenant.admin, entity, TORN, () => ({ n: 0 }));
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    let done = 0;
    await rounds(1, async (nth) => {
      const since = await killer.lengths(ids);
      const made = await preview(tenant.admin, entity, edit({ n: nth + 1 }), ids);
      const answer = commit(tenant.admin, made.id).catch((error: unknown) => error);
      const hits = await killer.fireAt(made.id, () =>
        killer.rowIsDone(ids[50] ?? '', 'RecordUpdated', since[50] ?? 0),
      );
      await answer;
      expect((await ended(tenant.admin, made.id, 60_000)).result).to.include({ succeeded: TORN });
      done += 1;
      return hits;
    });
    const all = Array.from({ length: done }, () => each('entity.updated', ids)).flat();
    expect(await told(receiver, hook.id)).to.deep.equal(all.sort());
  }).timeout(180_000);
});
