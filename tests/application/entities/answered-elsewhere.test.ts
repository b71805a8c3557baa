import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { RecordNotes } from '../../../application/entities/record-notes.ts';
import { refusalCode } from '../../support/eventually.ts';
import { settle } from '../village.ts';
import { defineNodes, request, startEntities, TENANT } from './support.ts';
import { cluster, definition, field } from './workflow-nodes.ts';

/** A node never refuses a command because its cached state lacks a change that another node has answered. */
describe('A write on another node', () => {
  it('defines an entity that this node can refer to, although this node cached that it does not exist', async () => {
    const { node } = cluster();
    const [one, other] = [node(), node()];
    expect(await other.schemas.cached(TENANT, 'thing')).to.equal(undefined);
    await one.define('thing', ['a']);
    const pointer = {
      key: 'p',
      label: 'p',
      type: 'reference' as const,
      required: false,
      reference: { entity_name: 'thing', on_delete: 'clear' as const },
    };
    const { entity } = await other.schemas.define(
      TENANT,
      { name: 'pointing', label: 'P', fields: [pointer] },
      request(),
    );
    expect(entity.fields).to.have.length(1);
  });

  it('creates a record that this node can refer to, although this node cached that it does not exist', async () => {
    const one = startEntities();
    const other = startEntities(one.shared);
    await defineNodes(one);
    const target = randomUUID();
    const point = () => other.records.create(TENANT, 'node', { clear: target }, request());
    expect(await refusalCode(point())).to.equal('constraint_violated');
    await one.records.create(TENANT, 'node', {}, request(), target);
    expect((await point()).record.values).to.deep.equal({ clear: target });
  });

  it('registers a user that this node can refer to, although this node cached that nobody has the id', async () => {
    const one = startEntities();
    const other = startEntities(one.shared);
    const owner = { ...field('owner'), type: 'user' as const };
    await one.schemas.define(TENANT, { name: 'task', label: 'T', fields: [owner] }, request());
    const assign = () => other.records.create(TENANT, 'task', { owner: 'ann' }, request());
    expect(await refusalCode(assign())).to.equal('constraint_violated');
    await settle(one);
    expect((await assign()).record.values).to.deep.equal({ owner: 'ann' });
  });

  it('registers a user whom a note mentions, although this node cached that nobody has the id', async () => {
    const one = startEntities();
    const other = startEntities(one.shared);
    await defineNodes(one);
    const { record } = await one.records.create(TENANT, 'node', {}, request());
    const notes = new RecordNotes(other);
    const write = () => notes.add(TENANT, 'node', record.id, 'for @[Bob](user:bob)', request());
    expect((await write()).note.mentioned_user_ids).to.deep.equal([]);
    await settle(one);
    expect((await write()).note.mentioned_user_ids).to.deep.equal(['bob']);
  });

  it('adds a reference field that protects records, although this node cached the entity without it', async () => {
    const one = startEntities();
    const other = startEntities(one.shared);
    await defineNodes(one);
    const { entity } = await one.schemas.define(TENANT, { name: 'seat', label: 'S', fields: [] }, request());
    expect(entity.fields).to.deep.equal([]);
    await other.schemas.cached(TENANT, 'seat');
    const keeps = {
      ...field('keeps'),
      type: 'reference' as const,
      reference: { entity_name: 'node', on_delete: 'restrict' as const },
    };
    await one.schemas.change(TENANT, 'seat', { fields: [keeps] }, request());
    const { record } = await one.records.create(TENANT, 'node', {}, request());
    await one.records.create(TENANT, 'seat', { keeps: record.id }, request());
    const deleting = other.deletions.delete(TENANT, 'node', record.id, {}, request());
    expect(await refusalCode(deleting)).to.equal('in_use');
  });

  it('relaxes a reference rule that this node applies to a deletion, although it cached the strict rule', async () => {
    const one = startEntities();
    const other = startEntities(one.shared, undefined, 200);
    await defineNodes(one);
    const holds = (on_delete: 'restrict' | 'clear') => [
      { ...field('holds'), type: 'reference' as const, reference: { entity_name: 'node', on_delete } },
    ];
    await one.schemas.define(TENANT, { name: 'seat', label: 'S', fields: holds('restrict') }, request());
    const { record } = await one.records.create(TENANT, 'node', {}, request());
    await one.records.create(TENANT, 'seat', { holds: record.id }, request());
    const remove = () => other.deletions.delete(TENANT, 'node', record.id, {}, request());
    expect(await refusalCode(remove())).to.equal('in_use');
    await one.schemas.change(TENANT, 'seat', { fields: holds('clear') }, request());
    await remove();
    expect(await refusalCode(remove())).to.equal('not_found');
  });

  it('publishes a workflow that this node can attach, although this node cached only the draft', async () => {
    const { node } = cluster();
    const [one, other] = [node(), node()];
    await one.workflows.create(TENANT, 'flow', definition(), request());
    await one.define('thing', ['a']);
    expect(await refusalCode(other.change({ workflow: 'flow' }))).to.equal('constraint_violated');
    await one.publish();
    expect((await other.change({ workflow: 'flow' })).entity.workflow).to.equal('flow');
  });
});
