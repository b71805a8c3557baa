import { expect } from 'chai';
import { WriterGate } from '../../../application/core/commands/writer-gate.ts';
import type { Quantum } from '../../../application/core/concurrency/background-scheduler.ts';
import type { LoggedEvent } from '../../../application/core/events/event-codec.ts';
import type { Subscriber } from '../../../application/core/subscriptions/subscriber.ts';
import { noteNotifier } from '../../../application/entities/note-notifier.ts';
import { jobStarter } from '../../../application/entities/schema-subscribers.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { addNote } from '../../../domain/entities/notes.ts';
import { recordStream } from '../../../domain/entities/record.ts';
import { type SchemaEvent, schemaStream } from '../../../domain/entities/schema.ts';
import { refusalCode } from '../../support/eventually.ts';
import { defineNodes, type Entities, recordsIn, request, startEntities, TENANT } from './support.ts';

const deliver = async (node: Entities, subscriber: Subscriber, quantum?: Quantum): Promise<void> => {
  for (const stored of await node.shared.events.readAll({ limit: 1000 })) {
    // Decoded events of the log have a position.
    if (subscriber.types.includes(stored.type))
      await subscriber.handle(node.codec.decode(stored) as LoggedEvent, quantum);
  }
};
const typesOf = async (node: Entities) =>
  (await node.shared.events.readAll({ limit: 1000 })).map(({ type }) => type);

describe('Subscribers of records', () => {
  it('notify once for a note when its event is delivered again', async () => {
    const node = startEntities();
    await defineNodes(node);
    const { record } = await node.records.create(TENANT, 'node', {}, request());
    const note = {
      noteId: 'note',
      author: { kind: 'user', id: 'ann' },
      authorUserId: 'ann',
      body: 'hello',
      mentioned: ['ben', 'cleo'],
    };
    await node.commands.execute({
      tenantId: TENANT,
      type: recordStream,
      id: record.id,
      cause: request().cause,
      decide: (state) => addNote(state, 'node', note),
    });
    const subscriber = noteNotifier({ streams: node.streams });
    for (let times = 0; times < 3; times += 1) await deliver(node, subscriber);
    const raised = (await typesOf(node)).filter((type) => type === 'NotificationRaised');
    expect(raised).to.have.length(2);
  });

  const attached = async () => {
    const published = { version: 3, initial: 'open', checkAgainst: () => [] };
    const node = startEntities();
    await defineNodes(node);
    const ids: string[] = [];
    const change: SchemaEvent = {
      type: 'EntityChanged',
      data: { entity_name: 'node', label: 'x', fields: [], workflow: 'flow', workflow_attached: true },
    };
    for (let i = 0; i < 3; i += 1) {
      ids.push((await node.records.create(TENANT, 'node', {}, request())).record.id);
    }
    await node.commands.execute({
      tenantId: TENANT,
      type: schemaStream,
      id: 'node',
      cause: request().cause,
      decide: () => [change],
    });
    const starter = (
      allRecords: () => AsyncIterable<{ id: string; job_id: string | null }>,
      pause = async (): Promise<void> => undefined,
    ) =>
      jobStarter({
        streams: node.streams,
        workflows: async () => published,
        gate: new WriterGate(),
        allRecords,
        pause,
      });
    return { node, ids, starter };
  };

  it('start one job per record when its event is delivered again', async () => {
    const { node, ids, starter } = await attached();
    const all = async function* () {
      for (const id of ids) yield { id, job_id: null };
    };
    for (let times = 0; times < 2; times += 1) await deliver(node, starter(all));
    for (const { state } of (await recordsIn(node.shared.events, node.codec)).values()) {
      expect('job' in state ? state.job : undefined).to.deep.include({ state: 'open', workflow_version: 3 });
    }
    expect((await typesOf(node)).filter((type) => type === 'JobStarted')).to.have.length(3);
  });

  it('start jobs in quanta of the tenant, so that a large entity does not delay other tenants', async () => {
    const { node, ids, starter } = await attached();
    const all = async function* () {
      for (const id of ids) yield { id, job_id: null };
    };
    const started: number[] = [];
    const next = async (): Promise<void> => {
      started.push((await typesOf(node)).filter((type) => type === 'JobStarted').length);
    };
    await deliver(node, starter(all), { isOver: true, next, begin: () => undefined, end: () => undefined });
    expect(started).to.deep.equal([0, 1, 2]);
  });

  it('start a job for a record that another process writes by the schema before the workflow', async () => {
    const { node, starter } = await attached();
    const other = startEntities(node.shared);
    const found = () => recordsIn(node.shared.events, node.codec);
    const all = async function* () {
      for (const id of (await found()).keys()) yield { id, job_id: null };
    };
    const writeElsewhere = async (): Promise<void> => {
      await other.records.create(TENANT, 'node', {}, request());
    };
    await deliver(node, starter(all, writeElsewhere));
    const states = [...(await found()).values()].map(({ state }) => ('job' in state ? state.job?.state : ''));
    expect(states).to.deep.equal(['open', 'open', 'open', 'open']);
  });

  it('do not skip an event because a read model is behind', async () => {
    const { node, starter } = await attached();
    const behind = (): AsyncIterable<never> => {
      throw new DomainError('read_model_behind', 'behind');
    };
    expect(await refusalCode(deliver(node, starter(behind)))).to.equal('unavailable');
  });
});
