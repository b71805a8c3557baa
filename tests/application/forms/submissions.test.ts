import { expect } from 'chai';
import type { LoggedEvent } from '../../../application/core/events/event-codec.ts';
import { crashingAt, seeded, withRandomYields } from '../entities/faults.ts';
import { request, TENANT } from '../entities/support.ts';
import { publish, startForms } from './support.ts';

describe('submissions of forms', () => {
  const start = async () => {
    const node = startForms();
    await node.prepare();
    const id = await publish(node, 'report');
    const { events, keyStore, snapshots } = node.shared;
    return { node, id, shared: { events, keyStore, snapshots } };
  };

  it('are a record and a submission of the same values', async () => {
    const { node, id } = await start();
    await node.submit('report', 'one', { name: 'Ann' });
    const { records, submitted } = await node.log();
    expect(records.map(({ values, created_by }) => ({ values, created_by }))).to.deep.equal([
      { values: { name: 'Ann' }, created_by: `form:${id}` },
    ]);
    expect(submitted).to.deep.equal([
      {
        form_id: id,
        submission_id: 'one',
        entity_name: 'thing',
        entity_id: records[0]?.record_id,
        values: { name: 'Ann' },
      },
    ]);
  });

  /** The first append is the record, the second the submission. */
  for (const dying of [1, 2]) {
    for (const isDone of [false, true]) {
      const where = `${isDone ? 'after' : 'before'} append ${dying}`;
      const isRecorded = dying > 1 || isDone;

      it(`are complete or absent after a crash ${where} and a run of the subscriber`, async () => {
        const { node, shared } = await start();
        const dead = startForms(shared, crashingAt(dying, isDone).wrap);
        const failure = await dead.submit('report', 'one', { name: 'Ann' }).catch((error: unknown) => error);
        expect(failure).to.be.an('error');
        await node.follow();
        await node.follow();
        const { records, submitted } = await node.log();
        expect(records).to.have.length(isRecorded ? 1 : 0);
        expect(submitted.map(({ entity_id, submission_id }) => ({ entity_id, submission_id }))).to.deep.equal(
          records.map(({ record_id }) => ({ entity_id: record_id, submission_id: 'one' })),
        );
      });

      it(`are stored once, with the first values, when repeated after a crash ${where}`, async () => {
        const { node, shared } = await start();
        await startForms(shared, crashingAt(dying, isDone).wrap)
          .submit('report', 'one', { name: 'First' })
          .catch(() => undefined);
        const again = await node.submit('report', 'one', { name: 'Second' });
        expect(again.submissionId).to.equal('one');
        await node.follow();
        const { records, submitted } = await node.log();
        const name = isRecorded ? 'First' : 'Second';
        expect(records.map(({ values }) => values)).to.deep.equal([{ name }]);
        expect(submitted.map(({ values }) => values)).to.deep.equal([{ name }]);
      });
    }
  }

  it('keep their first values when the record changed or was deleted before they were complete', async () => {
    const { node, shared } = await start();
    for (const id of ['changed', 'deleted']) {
      await startForms(shared, crashingAt(2, false).wrap)
        .submit('report', id, { name: id })
        .catch(() => undefined);
    }
    const [changed, deleted] = (await node.log()).records;
    if (changed === undefined || deleted === undefined) throw new Error('no records');
    await node.records.update(TENANT, 'thing', changed.record_id, { values: { name: 'x' } }, request());
    await node.deletions.delete(TENANT, 'thing', deleted.record_id, {}, request());
    await node.submit('report', 'deleted', { name: 'again' });
    await node.follow();
    const { records, submitted } = await node.log();
    expect(records).to.have.length(2);
    expect(submitted.map(({ values }) => values.name).sort()).to.deep.equal(['changed', 'deleted']);
  });

  it('are stored once when two nodes handle the same submission concurrently', async () => {
    for (let seed = 1; seed <= 25; seed += 1) {
      const { node, shared } = await start();
      const nodes = [1, 2].map((n) => startForms(shared, withRandomYields(seeded(seed * 10 + n))));
      await Promise.all(
        nodes.flatMap((each, n) =>
          ['a', 'b'].map((name) => each.submit('report', 'one', { name: `${name}${n}` })),
        ),
      );
      await node.follow();
      const { records, submitted } = await node.log();
      expect([records.length, submitted.length], `seed ${seed}`).to.deep.equal([1, 1]);
      expect(submitted[0]?.values).to.deep.equal(records[0]?.values);
    }
  });

  it('are not made for records that no form has created', async () => {
    const { node } = await start();
    const context = request();
    const strangers = [
      context.cause.actor,
      { kind: 'public', id: 'link:1' },
      { kind: 'user', id: 'form:1' },
    ] as const;
    for (const actor of strangers) {
      const cause = { ...context.cause, actor };
      await node.records.create(TENANT, 'thing', { name: 'x' }, { ...request(), cause });
    }
    await node.follow();
    expect((await node.log()).submitted).to.deep.equal([]);
  });

  it('ignore events other than a record’s creation', async () => {
    const { node } = await start();
    const [stored] = await node.shared.events.readAll({ limit: 1 });
    if (stored === undefined) throw new Error('an empty log');
    const event = { ...node.codec.decode(stored), position: stored.position };
    await node.subscriber.handle({ ...event, actor: { kind: 'public', id: 'form:1' } } as LoggedEvent);
    expect((await node.log()).submitted).to.deep.equal([]);
  });
});
