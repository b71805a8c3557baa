import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { refusalCode } from '../../support/eventually.ts';
import { defineNodes, request, startEntities, TENANT } from './support.ts';
import { cluster, definition, field } from './workflow-nodes.ts';

/** What one node has in memory is never the reason to refuse what another one has made possible. */
describe('What another node has answered', () => {
  it('is an entity that can be pointed to, although there was none when this node asked', async () => {
    const { node } = cluster();
    const [one, other] = [node(), node()];
    expect(await other.schemas.known(TENANT, 'thing')).to.equal(undefined);
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

  it('is a record that can be pointed to, although there was none when this node asked', async () => {
    const one = startEntities();
    const other = startEntities(one.shared);
    await defineNodes(one);
    const target = randomUUID();
    const point = () => other.records.create(TENANT, 'node', { clear: target }, request());
    expect(await refusalCode(point())).to.equal('constraint_violated');
    await one.records.create(TENANT, 'node', {}, request(), target);
    expect((await point()).record.values).to.deep.equal({ clear: target });
  });

  it('is a field that keeps what it points to, although this node knew the entity without it', async () => {
    const one = startEntities();
    const other = startEntities(one.shared);
    await defineNodes(one);
    const { entity } = await one.schemas.define(TENANT, { name: 'seat', label: 'S', fields: [] }, request());
    expect(entity.fields).to.deep.equal([]);
    await other.schemas.known(TENANT, 'seat');
    const keeps = {
      ...field('keeps'),
      type: 'reference' as const,
      reference: { entity_name: 'node', on_delete: 'restrict' as const },
    };
    await one.schemas.change(TENANT, 'seat', { fields: [keeps] }, request());
    const { record } = await one.records.create(TENANT, 'node', {}, request());
    await one.records.create(TENANT, 'seat', { keeps: record.id }, request());
    const deleting = other.records.delete(TENANT, 'node', record.id, {}, request());
    expect(await refusalCode(deleting)).to.equal('in_use');
  });

  it('is a workflow that can be attached, although it was a draft when this node asked', async () => {
    const { node } = cluster();
    const [one, other] = [node(), node()];
    await one.workflows.create(TENANT, 'flow', definition(), request());
    await one.define('thing', ['a']);
    expect(await refusalCode(other.change({ workflow: 'flow' }))).to.equal('constraint_violated');
    await one.publish();
    expect((await other.change({ workflow: 'flow' })).entity.workflow).to.equal('flow');
  });
});
