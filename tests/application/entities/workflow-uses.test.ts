import { expect } from 'chai';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { type SchemaEvent, schemaStream } from '../../../domain/entities/schema.ts';
import { workflowStream } from '../../../domain/workflow/workflow.ts';
import { gate, refusalCode, rejection, severalTicks } from '../../support/eventually.ts';
import { crashingAt } from './faults.ts';
import { request, TENANT } from './support.ts';
import { cluster, definition, field, NEEDS_Z } from './workflow-nodes.ts';

/** A published workflow whose next draft needs `z`, and an entity without a workflow. */
const start = async (keys: readonly string[]) => {
  const { clock, node } = cluster();
  const one = node();
  await one.workflows.create(TENANT, 'flow', definition(), request());
  await one.publish();
  await one.save(NEEDS_Z);
  await one.define('thing', keys);
  return { clock, node, one };
};

const outcomeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof DomainError) return error.code;
      throw error;
    },
  );

/** docs/decisions/0012-schema-changes-are-proposed.md */
describe('An entity and its workflow', () => {
  it('match although the other node has not seen that the entity uses it', async () => {
    const { node, one } = await start(['a']);
    const other = node();
    // Caches the old states of the entity and the workflow.
    await other.schemas.cached(TENANT, 'thing');
    await other.states.load(TENANT, workflowStream, 'flow');
    await one.change({ workflow: 'flow' });
    const error = await rejection(other.publish());
    expect(error).to.be.instanceOf(DomainError).with.property('code', 'validation_failed');
    expect(JSON.stringify(error)).to.contain('transitions.0.guard').and.to.contain('thing: ');
  });

  it('match although the entity is defined with it', async () => {
    const { node, one } = await start(['a']);
    const other = node();
    await other.states.load(TENANT, workflowStream, 'flow');
    await one.define('more', ['a'], 'flow');
    expect(await refusalCode(other.publish())).to.equal('validation_failed');
  });

  it('match although the entity used it before announcements existed', async () => {
    const { node, one } = await start([]);
    const defined: SchemaEvent = {
      type: 'EntityDefined',
      data: { entity_name: 'old', label: 'Old', fields: [field('a')], workflow: 'flow' },
    };
    await one.commands.execute({
      tenantId: TENANT,
      type: schemaStream,
      id: 'old',
      cause: request().cause,
      decide: () => [defined],
    });
    const other = node({ readModel: ['old', 'unknown'] });
    expect(await refusalCode(other.publish())).to.equal('validation_failed');
    await one.schemas.change(TENANT, 'old', { fields: [field('a'), field('z')] }, request());
    expect((await other.publish()).workflow.versions).to.have.length(2);
  });

  it('are not compared once the entity uses the workflow no more', async () => {
    const { node, one } = await start(['a']);
    await one.change({ workflow: 'flow' });
    await one.change({ workflow: null });
    expect((await node().publish()).workflow.versions).to.have.length(2);
  });

  it('match during and after the removal of a field', async () => {
    const { node, one } = await start(['a', 'z']);
    await one.change({ workflow: 'flow' });
    const { passed, open } = gate();
    const looked = gate();
    const slow = node({
      looking: () => {
        looked.open();
        return passed;
      },
    });
    const removing = slow.change({ fields: [field('a')] });
    await looked.passed;
    expect(await refusalCode(one.publish())).to.equal('validation_failed');
    open();
    await removing;
    expect(await one.fields()).to.deep.equal(['a']);
    expect(await refusalCode(one.publish())).to.equal('validation_failed');
  });

  it('match when publishing waits for a change about to be written', async () => {
    const { node, one } = await start(['a']);
    const { passed, open } = gate();
    const reached = gate();
    const slow = node({
      wrap: (events) => ({
        ...events,
        append: async (stream, ...rest) => {
          if (stream.includes('.schema-')) {
            reached.open();
            await passed;
          }
          return events.append(stream, ...rest);
        },
      }),
    });
    let waited = 0;
    const other = node({
      waiting: async () => {
        waited += 1;
        if (waited === 3) open();
        await severalTicks();
      },
    });
    const attaching = slow.change({ workflow: 'flow' });
    await reached.passed;
    expect(await outcomeOf(other.publish())).to.equal('validation_failed');
    expect(waited).to.be.at.least(3);
    expect((await attaching).entity.workflow).to.equal('flow');
    expect((await one.schemas.requireLatest(TENANT, 'thing')).workflow).to.equal('flow');
  });

  it('match when late publishing decides again', async () => {
    const { node, one } = await start(['a']);
    const slow = node({
      wrap: (events) => ({
        ...events,
        append: async (...args) => {
          // The entity changes after publishing has read it, and before this append.
          await one.change({ workflow: 'flow' });
          return events.append(...args);
        },
      }),
    });
    expect(await refusalCode(slow.publish())).to.equal('validation_failed');
  });

  it('match when a late attachment is refused', async () => {
    const { node, one } = await start(['a']);
    const slow = node({
      wrap: (events) => ({
        ...events,
        append: async (...args) => {
          await one.publish();
          return events.append(...args);
        },
      }),
    });
    expect(await refusalCode(slow.change({ workflow: 'flow' }))).to.equal('validation_failed');
  });

  it('allow only one of two concurrent changes that do not match, under any delays', async () => {
    const outcomes = new Set<string>();
    for (let changing = 0; changing < 7; changing += 1) {
      for (let publishing = 0; publishing < 7; publishing += 1) {
        for (const change of ['attach', 'remove'] as const) {
          const { node, one } = await start(change === 'attach' ? ['a'] : ['a', 'z']);
          if (change === 'remove') await one.change({ workflow: 'flow' });
          const slowly = (ticks: number) => (events: EventStore) => ({
            ...events,
            append: async (...args: Parameters<EventStore['append']>) => {
              await severalTicks(ticks);
              return events.append(...args);
            },
            readStream: async (...args: Parameters<EventStore['readStream']>) => {
              const read = await events.readStream(...args);
              await severalTicks(ticks);
              return read;
            },
          });
          const changer = node({ wrap: slowly(changing) });
          const publisher = node({ wrap: slowly(publishing) });
          const [changed, published] = await Promise.all([
            outcomeOf(changer.change(change === 'attach' ? { workflow: 'flow' } : { fields: [field('a')] })),
            outcomeOf(publisher.publish()),
          ]);
          const both = `${change}: ${changed}, publish: ${published}`;
          outcomes.add(both);
          expect(
            [changed, published].filter((each) => each === 'done'),
            both,
          ).to.have.length(1);
        }
      }
    }
    // In some runs attaching came first, in others publishing.
    expect([...outcomes].toSorted()).to.include.members([
      'attach: done, publish: validation_failed',
      'attach: validation_failed, publish: done',
    ]);
  });

  describe('when a process stops between announcement and change', () => {
    it('block publishing for at most ten seconds', async () => {
      const { clock, node, one } = await start(['a']);
      const dying = node({ wrap: crashingAt(2, false).wrap });
      await rejection(dying.change({ workflow: 'flow' }));
      expect(await refusalCode(one.publish())).to.equal('conflict');
      // A change that does not concern the workflow is not blocked.
      await one.change({ label: 'Thing' });
      clock.advance(10_000);
      expect((await one.publish()).workflow.versions).to.have.length(2);
    });

    it('are not changed by that process after five seconds', async () => {
      const { clock, node, one } = await start(['a']);
      let lookedUp = 0;
      const slow = node({
        lookedUp: async () => {
          lookedUp += 1;
          // After the first look-up, the change finds that it must announce itself.
          if (lookedUp > 1) clock.advance(5001);
        },
      });
      expect(await refusalCode(slow.change({ workflow: 'flow' }))).to.equal('conflict');
      expect((await one.schemas.requireLatest(TENANT, 'thing')).workflow).to.equal(null);
      // The announcement is settled, so no write waits.
      expect((await one.publish()).workflow.versions).to.have.length(2);
    });

    it('are not defined by that process after five seconds', async () => {
      const { clock, node, one } = await start(['a']);
      const slow = node({ lookedUp: async () => clock.advance(5001) });
      expect(await refusalCode(slow.define('late', ['a'], 'flow'))).to.equal('conflict');
      expect(await one.schemas.findLatest(TENANT, 'late')).to.equal(undefined);
    });

    it('are not changed by that process when publishing came after its check', async () => {
      const { clock, node, one } = await start(['a']);
      let lookedUp = 0;
      const slow = node({
        lookedUp: async () => {
          lookedUp += 1;
          if (lookedUp !== 2) return;
          clock.advance(10_000);
          await one.publish();
        },
      });
      // The late change checks the new version before it fails.
      expect(await refusalCode(slow.change({ workflow: 'flow' }))).to.equal('validation_failed');
      expect((await one.schemas.requireLatest(TENANT, 'thing')).workflow).to.equal(null);
    });

    it('are not changed by that process after publishing', async () => {
      const { clock, node, one } = await start(['a']);
      const { passed, open } = gate();
      const reached = gate();
      let reads = 0;
      const slow = node({
        wrap: (events) => ({
          ...events,
          append: async (stream, ...rest) => {
            const result = await events.append(stream, ...rest);
            reads += 1;
            // The first append of the change is the announcement.
            if (reads === 1) {
              reached.open();
              await passed;
            }
            return result;
          },
        }),
      });
      const attaching = outcomeOf(slow.change({ workflow: 'flow' }));
      await reached.passed;
      clock.advance(10_000);
      await one.publish();
      open();
      expect(await attaching).to.equal('validation_failed');
      expect((await one.schemas.requireLatest(TENANT, 'thing')).workflow).to.equal(null);
    });
  });

  it('write nothing to the workflow when nothing changes or the change is refused', async () => {
    const { node, one } = await start(['a']);
    await one.change({ workflow: 'flow' });
    const revision = async () => (await node().states.load(TENANT, workflowStream, 'flow')).revision;
    const before = await revision();
    await one.change({ workflow: 'flow' });
    await one.change({ label: 'Other' });
    await one.change({ fields: [field('a')] });
    expect(await refusalCode(one.change({ workflow: 'unknown' }))).to.equal('constraint_violated');
    expect(await refusalCode(one.define('thing', ['a'], 'flow'))).to.equal('already_exists');
    expect(await revision()).to.equal(before);
    await one.change({ fields: [field('a'), field('b')] });
    expect(await revision()).to.equal(before + 2);
  });
});
