import { expect } from 'chai';
import { DomainError } from '../../../domain/core/errors.ts';
import { type RecordEvent, recordStream } from '../../../domain/entities/record.ts';
import { type SchemaEvent, schemaStream } from '../../../domain/entities/schema.ts';
import type { Definition } from '../../../domain/workflow/definition.ts';
import { change, INVOICES } from '../../domain/workflow/samples.ts';
import { causeOf } from '../../support/book.ts';
import { memoryStores } from '../../support/node.ts';
import { type JobsNode, request, startJobs, TENANT } from './support.ts';

const ANN = { id: 'ann', role: 'admin' } as const;
/** Every event is possible again after each move, so that only a race can be refused. */
const LOOP: Definition = {
  initial: 'a',
  states: [
    { key: 'a', label: 'A' },
    { key: 'b', label: 'B' },
  ],
  transitions: [
    { event_name: 'flip', from: 'a', to: 'b' },
    { event_name: 'flip', from: 'b', to: 'a' },
    { event_name: 'stay', from: ['a', 'b'], to: 'a' },
  ],
};

const move = (node: JobsNode, id: string, eventName = 'flip') =>
  node.jobs.transition(TENANT, id, { eventName }, ANN, request());
const codeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'moved',
    (error: unknown) => (error instanceof DomainError ? error.code : Promise.reject(error)),
  );
const count = (codes: readonly string[], code: string): number =>
  codes.filter((each) => each === code).length;

describe('jobs', () => {
  let node: JobsNode;
  beforeEach(async () => {
    node = startJobs();
    await node.defineInvoice();
    await node.publish('loop', LOOP);
    await node.startJob('one', 'loop');
  });

  it('move and return their new state', async () => {
    const moved = await move(node, 'one');
    expect([moved.record.job.state, moved.record.job.version, moved.record.version]).to.deep.equal([
      'b',
      2,
      2,
    ]);
  });

  it('accept one of several concurrent moves and refuse the others as lost races', async () => {
    for (let round = 0; round < 50; round += 1) {
      const codes = await Promise.all(
        ['flip', 'stay', 'flip'].map((eventName) => codeOf(move(node, 'one', eventName))),
      );
      expect([count(codes, 'moved'), count(codes, 'conflict')]).to.deep.equal([1, 2]);
    }
    expect((await node.jobs.find(TENANT, 'one')).job.version).to.equal(51);
  });

  it('accept one of several concurrent moves on two nodes', async () => {
    const stores = memoryStores();
    const [one, other] = [startJobs(stores), startJobs(stores)];
    await one.defineInvoice();
    await one.publish('loop', LOOP);
    await one.startJob('shared', 'loop');
    for (let round = 0; round < 50; round += 1) {
      const codes = await Promise.all([one, other].map((each) => codeOf(move(each, 'shared'))));
      expect(codes.toSorted()).to.deep.equal(['conflict', 'moved']);
    }
  });

  it('cause no conflict for a request that follows another node’s move', async () => {
    const stores = memoryStores();
    const [one, other] = [startJobs(stores), startJobs(stores)];
    await one.defineInvoice();
    await one.publish('loop', LOOP);
    await one.startJob('shared', 'loop');
    for (let round = 0; round < 10; round += 1) {
      for (const each of [one, other]) expect(await codeOf(move(each, 'shared'))).to.equal('moved');
    }
  });

  it('are not refused for a field that another node has added', async () => {
    const stores = memoryStores();
    const [one, other] = [startJobs(stores), startJobs(stores)];
    await one.defineInvoice();
    const [first] = INVOICES.transitions;
    const transitions = INVOICES.transitions.map((each) =>
      each === first ? { ...each, guard: 'record.size == null' } : each,
    );
    await one.publish('sized', change({ transitions }));
    await one.startJob('sized', 'sized', { title: 'x' });
    expect(await codeOf(move(other, 'sized', 'submit'))).to.equal('guard_rejected');
    const grown: SchemaEvent = {
      type: 'EntityChanged',
      data: {
        entity_name: 'invoice',
        label: 'Invoice',
        workflow: null,
        fields: [
          { key: 'title', label: 'Title', type: 'text', required: false },
          { key: 'size', label: 'Size', type: 'integer', required: false },
        ],
        workflow_attached: false,
      },
    };
    await one.commands.execute({
      tenantId: TENANT,
      type: schemaStream,
      id: 'invoice',
      cause: causeOf('grown'),
      decide: () => [grown],
    });
    expect(await codeOf(move(other, 'sized', 'submit'))).to.equal('moved');
  });

  it('are not refused because of a concurrent change of values', async () => {
    const edited = (version: number): RecordEvent => ({
      type: 'RecordUpdated',
      data: {
        record_id: 'one',
        entity_name: 'invoice',
        values: { title: 'New' },
        types: {},
        changed: ['title'],
        version,
      },
    });
    const edit = node.commands.execute({
      tenantId: TENANT,
      type: recordStream,
      id: 'one',
      cause: causeOf('edit'),
      decide: (state) => (state.status === 'live' ? [edited(state.version + 1)] : []),
    });
    expect(await codeOf(move(node, 'one'))).to.equal('moved');
    await edit;
    expect((await node.jobs.find(TENANT, 'one')).version).to.equal(3);
  });

  it('all move one after another when lost races are decided again', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () =>
        node.jobs.tryTransition(TENANT, 'one', { eventName: 'flip' }, ANN, request()),
      ),
    );
    expect(outcomes.every(({ outcome }) => outcome === 'moved')).to.equal(true);
    expect((await node.jobs.find(TENANT, 'one')).job).to.deep.include({ state: 'a', version: 21 });
  });

  it('return refusals as values', async () => {
    const attempt = (id: string, eventName: string) =>
      node.jobs.tryTransition(TENANT, id, { eventName }, ANN, request());
    expect(await attempt('nobody', 'flip')).to.deep.equal({ outcome: 'not_found' });
    expect(await attempt('one', 'fly')).to.deep.equal({
      outcome: 'refused',
      refusal: { kind: 'no_transition', state: 'a', allowed: ['flip', 'stay'] },
    });
  });

  it('stay on the version they began with', async () => {
    const changed: Definition = {
      ...LOOP,
      transitions: [
        { event_name: 'jump', from: 'a', to: 'b' },
        { event_name: 'flip', from: 'b', to: 'a' },
      ],
    };
    expect(await node.publish('loop', changed)).to.equal(2);
    await node.startJob('two', 'loop');
    expect(await codeOf(move(node, 'one'))).to.equal('moved');
    expect(await codeOf(move(node, 'two'))).to.equal('invalid_transition');
    expect(await codeOf(move(node, 'one', 'jump'))).to.equal('invalid_transition');
    expect(await codeOf(move(node, 'two', 'jump'))).to.equal('moved');
    const found = await Promise.all(['one', 'two'].map((id) => node.jobs.find(TENANT, id)));
    expect(found.map(({ job }) => job.workflow_version)).to.deep.equal([1, 2]);
  });

  it('are checked by the record’s present values and fields', async () => {
    await node.publish('invoices', INVOICES);
    await node.startJob('small', 'invoices', { title: 'x', amount: 5 });
    await node.startJob('large', 'invoices', { title: 'x', amount: 5000 });
    for (const id of ['small', 'large']) await move(node, id, 'submit');
    expect(await codeOf(move(node, 'small', 'approve'))).to.equal('moved');
    expect(await codeOf(move(node, 'large', 'approve'))).to.equal('guard_rejected');
    const allowed = await node.jobs.allowed(TENANT, 'large', 'submitted', ANN);
    expect(allowed).to.deep.equal(['send_back', 'touch']);
  });

  it('treat a guard on a removed field as false', async () => {
    const odd = change({
      transitions: [{ event_name: 'go', from: 'draft', to: 'submitted', guard: 'record.gone == null' }],
      states: INVOICES.states.slice(0, 2),
    });
    await node.publish('odd', odd);
    await node.startJob('odd', 'odd');
    expect(await codeOf(move(node, 'odd', 'go'))).to.equal('guard_rejected');
  });

  it('have one effect for a request retried after a crash', async () => {
    const first = request();
    const keyed = { ...first, priorAttempt: { since: 0 } };
    const attempt = () => node.jobs.transition(TENANT, 'one', { eventName: 'flip' }, ANN, keyed);
    await attempt();
    const again = await attempt();
    expect([again.record.job.state, again.record.job.version]).to.deep.equal(['b', 2]);
  });

  it('are overridden by one of two concurrent requests', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { job } = await node.jobs.find(TENANT, 'one');
      const toState = job.state === 'a' ? 'b' : 'a';
      const codes = await Promise.all(
        [1, 2].map(() => codeOf(node.jobs.override(TENANT, 'one', { toState, reason: 'why' }, request()))),
      );
      expect(codes.toSorted()).to.deep.equal(['conflict', 'moved']);
    }
  });
});
