import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { surveyDeletion } from '../../../application/entities/deletion-survey.ts';
import type { EventStore, Position } from '../../../application/ports/event-store.ts';
import { jsonBytes } from '../../../domain/core/text.ts';
import {
  abandonDeletion,
  finishDeletion,
  markForDeletion,
  startDeletion,
} from '../../../domain/entities/deletion.ts';
import { type RecordEvent, type RecordState, recordStream } from '../../../domain/entities/record.ts';
import { MAX_RECORD_BYTES } from '../../../domain/entities/record-values.ts';
import { gate, refusalCode, severalTicks } from '../../support/eventually.ts';
import { crashingAt } from './faults.ts';
import { defineNodes, type Entities, flawsIn, recordsIn, request, startEntities, TENANT } from './support.ts';

const create = async (node: Entities, values: Record<string, unknown> = {}): Promise<string> =>
  (await node.records.create(TENANT, 'node', values, request())).record.id;
const remove = (node: Entities, id: string) => node.deletions.delete(TENANT, 'node', id, {}, request());
const statusOf = async (node: Entities, id: string) =>
  (await recordsIn(node.shared.events, node.codec)).get(id)?.state.status;

describe('A deletion', () => {
  /** A root, its two cascading children, a cascading grandchild, and a record whose reference is cleared. */
  const family = async (node: Entities) => {
    await defineNodes(node);
    const root = await create(node);
    const child = await create(node, { cascade: root });
    const other = await create(node, { cascade: root, clear: child });
    const grandchild = await create(node, { cascade: child });
    const cleared = await create(node, { clear: root, n: 1 });
    return { root, goes: [root, child, other, grandchild], cleared };
  };

  it('is completed by another process after a crash at any append', async () => {
    const tried = startEntities();
    const { root: id } = await family(tried);
    const before = (await tried.shared.events.readAll({ limit: 100_000 })).length;
    await remove(tried, id);
    const appends = (await tried.shared.events.readAll({ limit: 100_000 })).length - before;
    expect(appends).to.be.greaterThan(8);
    let deaths = 0;
    for (let after = 1; after <= appends; after += 1) {
      for (const isDone of [false, true]) {
        const healthy = startEntities();
        const { root, goes, cleared } = await family(healthy);
        const { wrap, isDead } = crashingAt(after, isDone);
        const dying = startEntities(healthy.shared, wrap);
        await remove(dying, root).catch(() => undefined);
        await severalTicks(5);
        const heir = startEntities(healthy.shared);
        await heir.deliver();
        const when = `append ${after}, ${isDone ? 'done' : 'not done'}`;
        expect(await flawsIn(heir), when).to.deep.equal([]);
        const statuses = await Promise.all(goes.map((each) => statusOf(heir, each)));
        const all = new Set(statuses);
        expect(all.size, `${when}: ${statuses}`).to.equal(1);
        if (after > 1 || isDone) expect(all, when).to.deep.equal(new Set(['deleted']));
        expect(await statusOf(heir, cleared)).to.equal('live');
        deaths += isDead() ? 1 : 0;
      }
    }
    expect(deaths).to.be.greaterThan(appends);
  }).timeout(60_000);

  it('answers the position of its last write, in whatever order its members finish', async () => {
    const node = startEntities();
    const { root, goes } = await family(node);
    const finish = node.deletions.finish.bind(node.deletions);
    const members = goes.filter((id) => id !== root);
    const finished: { position: Position | undefined; resolve: () => void }[] = [];
    node.deletions.finish = async (attempt, id, position) => {
      const last = await finish(attempt, id, position);
      if (id === root) return last;
      const { promise, resolve } = Promise.withResolvers<void>();
      finished.push({ position: last, resolve });
      if (finished.length === members.length) {
        // The member with the last write finishes first.
        finished.sort((a, b) => ((a.position ?? '') < (b.position ?? '') ? 1 : -1));
        queueMicrotask(() => {
          for (const member of finished) member.resolve();
        });
      }
      await promise;
      return last;
    };
    const answered = await node.deletions.delete(TENANT, 'node', root, { untilSwept: true }, request());
    expect(answered).to.equal(finished[0]?.position);
  });

  it('is reverted by another process when a record prevents it', async () => {
    for (let after = 1; after <= 12; after += 1) {
      for (const isDone of [false, true]) {
        const healthy = startEntities();
        const { root, goes } = await family(healthy);
        await create(healthy, { restrict: goes.at(-1) });
        const dying = startEntities(healthy.shared, crashingAt(after, isDone).wrap);
        await remove(dying, root).catch(() => undefined);
        await severalTicks(5);
        const heir = startEntities(healthy.shared);
        await heir.deliver();
        const statuses = await Promise.all(goes.map((each) => statusOf(heir, each)));
        expect(new Set(statuses), `append ${after}`).to.deep.equal(new Set(['live']));
        expect(await flawsIn(heir)).to.deep.equal([]);
        // No mark of the first deletion is left: only the restricting record prevents another deletion.
        expect(await refusalCode(remove(heir, root))).to.equal('in_use');
      }
    }
  }).timeout(60_000);

  it('of a record of the largest size is completed, whoever deletes it', async () => {
    const node = startEntities();
    await defineNodes(node);
    const texts = ['a', 'b', 'c', 'd', 'e', 'f'];
    const fields = [
      ...texts.map((key) => ({ key, label: key, type: 'long_text' as const, required: false })),
      {
        key: 'clear',
        label: 'clear',
        type: 'reference' as const,
        required: false,
        reference: { entity_name: 'node', on_delete: 'clear' as const },
      },
    ];
    await node.schemas.define(TENANT, { name: 'page', label: 'P', fields }, request());
    const target = await create(node);
    const types = { ...Object.fromEntries(texts.map((key) => [key, 'long_text'])), clear: 'reference' };
    const sized = (bytes: number) => {
      const filled = Object.fromEntries(texts.map((key) => [key, key === 'f' ? '' : 'x'.repeat(99_000)]));
      const values = { ...filled, clear: target };
      return { ...values, f: 'x'.repeat(bytes - jsonBytes({ values, types })) };
    };
    const write = (bytes: number) => node.records.create(TENANT, 'page', sized(bytes), request());
    expect(await refusalCode(write(MAX_RECORD_BYTES + 1))).to.equal('payload_too_large');
    const { record } = await write(MAX_RECORD_BYTES);
    const long = (letter: string) => letter.repeat(128);
    const cause = {
      actor: { kind: 'extension' as const, id: long('e'), user_id: long('u') },
      impersonatedBy: `${'ü'.repeat(300)}@example.com`,
      correlationId: long('r'),
      causationId: long('c'),
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    };
    const context = { ...request(), cause, newId: () => `bulk:${randomUUID()}:${randomUUID()}` };
    await node.deletions.delete(TENANT, 'node', target, { untilSwept: true }, context);
    await node.deletions.delete(TENANT, 'page', record.id, { untilSwept: true }, context);
    expect(await statusOf(node, record.id)).to.equal('deleted');
    expect(await flawsIn(node)).to.deep.equal([]);
  });

  it('has removed its marks before it answers with an error', async () => {
    const node = startEntities();
    const { root, goes } = await family(node);
    await create(node, { restrict: goes.at(-1) });
    expect(await refusalCode(remove(node, root))).to.equal('in_use');
    for (const each of goes) expect(await statusOf(node, each)).to.equal('live');
  });

  it('is reverted by the subscriber when it was abandoned', async () => {
    const node = startEntities();
    const { root, goes } = await family(node);
    const child = goes[1] ?? '';
    const attempt = { deletionId: 'attempt', rootId: root };
    const on = (id: string, decide: (state: RecordState) => readonly RecordEvent[]) =>
      node.commands.execute({ tenantId: TENANT, type: recordStream, id, cause: request().cause, decide });
    await on(root, (state) => startDeletion(state, 'node', attempt));
    await on(child, (state) => markForDeletion(state, root, attempt));
    await on(root, (state) => abandonDeletion(state, attempt.deletionId));
    const told = (await node.shared.events.readAll({ limit: 100_000 })).length - 1;
    await startEntities(node.shared).deliver(told);
    expect(await statusOf(node, child)).to.equal('live');
    // A process that does not know of the revert marks the record late.
    await on(child, (state) => markForDeletion(state, root, attempt));
    await startEntities(node.shared).deliver(told + 2);
    expect(await statusOf(node, child)).to.equal('live');
  });

  it('clears a reference of a record whose own deletion is reverted', async () => {
    const node = startEntities();
    await defineNodes(node);
    const target = await create(node);
    const child = await create(node, { clear: target });
    await create(node, { restrict: child });
    const { passed, open } = gate();
    const marked = gate();
    let appends = 0;
    const slow = startEntities(node.shared, (events) => ({
      ...events,
      append: async (...args) => {
        const result = await events.append(...args);
        appends += 1;
        if (appends === 1) {
          marked.open();
          await passed;
        }
        return result;
      },
    }));
    const refused = refusalCode(remove(slow, child));
    await marked.passed;
    await remove(startEntities(node.shared), target);
    open();
    expect(await refused).to.equal('in_use');
    expect(await statusOf(node, child)).to.equal('live');
    expect(await flawsIn(node)).to.deep.equal([]);
  });

  it('is completed and not reverted when another process has decided it', async () => {
    const node = startEntities();
    await defineNodes(node);
    const root = await create(node);
    const child = await create(node, { cascade: root });
    const keeper = await create(node, { restrict: child });
    const reached = gate();
    const { passed, open } = gate();
    const slow = startEntities(node.shared, (events) => ({
      ...events,
      append: async (stream, revision, added) => {
        if (added.some(({ type }) => type === 'RecordDeletionAbandoned')) {
          reached.open();
          await passed;
        }
        return events.append(stream, revision, added);
      },
    }));
    const removing = remove(slow, root);
    await reached.passed;
    await remove(node, keeper);
    const decided = (state: RecordState) =>
      state.status === 'deleting' ? finishDeletion(state, state.deletion.id) : [];
    await node.commands.execute({
      tenantId: TENANT,
      type: recordStream,
      id: root,
      cause: request().cause,
      decide: decided,
    });
    open();
    await removing;
    for (const id of [root, child]) expect(await statusOf(node, id)).to.equal('deleted');
    expect(await flawsIn(node)).to.deep.equal([]);
  });

  it('has no further effect when its events are delivered again', async () => {
    const node = startEntities();
    const { root } = await family(node);
    await remove(node, root);
    await node.deliver();
    const count = async () => (await node.shared.events.readAll({ limit: 100_000 })).length;
    const before = await count();
    await node.deliver();
    await startEntities(node.shared).deliver();
    expect(await count()).to.equal(before);
  });

  it('refuses the write of a writer that has registered and not written yet', async () => {
    const shared = startEntities();
    await defineNodes(shared);
    type Write = (slow: Entities, target: string, seat: string) => Promise<unknown>;
    const writesOf = (field: string): Write[] => [
      (slow, target) => slow.records.create(TENANT, 'node', { [field]: target }, request()),
      (slow, target, seat) =>
        slow.records.update(TENANT, 'node', seat, { values: { [field]: target } }, request()),
    ];
    for (const field of ['cascade', 'clear', 'restrict']) {
      for (const write of writesOf(field)) {
        const [target, seat] = [await create(shared), await create(shared)];
        const { passed, open } = gate();
        const reached = gate();
        // Holds the writer's second append, which writes the referrer, until after the deletion.
        const hold = (events: EventStore): EventStore => {
          let appends = 0;
          return {
            ...events,
            append: async (...args) => {
              appends += 1;
              if (appends === 2) {
                reached.open();
                await passed;
              }
              return events.append(...args);
            },
          };
        };
        const writing = write(startEntities(shared.shared, hold), target, seat);
        await reached.passed;
        await remove(startEntities(shared.shared), target);
        open();
        expect(await refusalCode(writing)).to.equal('constraint_violated');
        expect(await flawsIn(shared)).to.deep.equal([]);
      }
    }
  });

  it('finds referrers that the read model has not folded yet', async () => {
    const node = startEntities();
    await defineNodes(node);
    const target = await create(node);
    const keeper = await create(node, { restrict: target });
    expect(await refusalCode(remove(node, target))).to.equal('in_use');
    await node.records.update(
      TENANT,
      'node',
      keeper,
      { values: { restrict: null, clear: target } },
      request(),
    );
    await remove(node, target);
    expect(await flawsIn(node)).to.deep.equal([]);
  });

  it('of a record with very many referrers has a state of the same size as with few', async () => {
    const node = startEntities();
    await defineNodes(node);
    const target = await create(node);
    for (let i = 0; i < 1200; i += 1) await create(node, { clear: target });
    const { state } = (await recordsIn(node.shared.events, node.codec)).get(target) ?? {};
    expect(state !== undefined && 'pending' in state ? state.pending.length : -1).to.be.within(1, 256);
    // Referrers that only the read model has found count too.
    const [first] = await referrersOf(node, target);
    if (first === undefined) throw new Error('no referrer');
    const point = (values: Record<string, unknown>) =>
      node.records.update(TENANT, 'node', first, { values }, request());
    await point({ clear: null, restrict: target });
    for (let i = 0; i < 300; i += 1) await create(node, { clear: target });
    expect(await refusalCode(remove(startEntities(node.shared), target))).to.equal('in_use');
    await point({ restrict: null, cascade: target });
    for (let i = 0; i < 300; i += 1) await create(node, { clear: target });
    await remove(startEntities(node.shared), target);
    expect(await statusOf(node, first)).to.equal('deleted');
    await node.deliver();
    expect(await flawsIn(node)).to.deep.equal([]);
  }).timeout(60_000);

  const referrersOf = async (node: Entities, target: string): Promise<string[]> =>
    [...(await recordsIn(node.shared.events, node.codec))]
      .filter(([, { state }]) => state.status === 'live' && Object.values(state.values).includes(target))
      .map(([id]) => id);

  it('finds a referrer that is written after it began', async () => {
    for (const [field, outcome] of [
      ['cascade', 'deleted'],
      ['restrict', 'live'],
    ] as const) {
      const base = startEntities();
      await defineNodes(base);
      const target = await create(base);
      const registered = gate();
      const started = gate();
      const written = gate();
      let appends = 0;
      const writer = startEntities(base.shared, (events) => ({
        ...events,
        append: async (...args) => {
          appends += 1;
          if (appends === 2) {
            registered.open();
            await started.passed;
          }
          return events.append(...args);
        },
      }));
      const writing = create(writer, { [field]: target }).finally(written.open);
      await registered.passed;
      let deletions = 0;
      const deleter = startEntities(base.shared, (events) => ({
        ...events,
        append: async (...args) => {
          const result = await events.append(...args);
          deletions += 1;
          if (deletions === 1) {
            started.open();
            await written.passed;
          }
          return result;
        },
      }));
      await remove(deleter, target).catch(() => undefined);
      const referrer = await writing;
      expect(await statusOf(base, referrer), field).to.equal(outcome);
      expect(await statusOf(base, target), field).to.equal(outcome);
      expect(await flawsIn(base)).to.deep.equal([]);
    }
  });

  it('is surveyed for the records that prevent it, without a write', async () => {
    const node = startEntities();
    const { root, goes } = await family(node);
    const keeper = await create(node, { restrict: goes.at(-1) });
    // This record prevents nothing, since the deletion takes it along.
    await create(node, { restrict: root, cascade: goes.at(-1) });
    const blockers = await surveyDeletion(node, TENANT, root, 100);
    expect(blockers.map(({ referrerId }) => referrerId)).to.deep.equal([keeper]);
    expect(await surveyDeletion(node, TENANT, root, 3), 'beyond the limit').to.deep.equal([]);
    expect(await statusOf(node, root)).to.equal('live');
  });

  it('marks nothing when the survey already finds a record that prevents it', async () => {
    const node = startEntities({}, undefined, 10);
    const { root, goes } = await family(node);
    await create(node, { restrict: goes.at(-1) });
    const before = (await node.shared.events.readAll({ limit: 100_000 })).length;
    expect(await refusalCode(remove(node, root))).to.equal('in_use');
    expect(await node.shared.events.readAll({ limit: 100_000 })).to.have.length(before);
  });
});

describe('A retried keyed request', () => {
  it('does not mistake events of its own clean-up for its effect', async () => {
    const node = startEntities();
    await defineNodes(node);
    const [target, seat] = [await create(node), await create(node)];
    const { cause } = request();
    // The first try registered its reference, its own clean-up barred the registration, and the try crashed.
    const registration = await node.links.register(
      { tenantId: TENANT, recordId: seat, entityName: 'node', cause },
      { fieldKey: 'clear', kind: 'reference', id: target, entityName: 'node' },
    );
    const { state } = (await recordsIn(node.shared.events, node.codec)).get(target) ?? {};
    const pending = state !== undefined && 'pending' in state ? state.pending : [];
    expect(pending.map(({ id }) => id)).to.deep.equal([registration]);
    await node.links.settle(TENANT, target, pending, cause);
    const { record, changed } = await node.records.update(
      TENANT,
      'node',
      seat,
      { values: { clear: target } },
      { ...request(), cause, priorAttempt: { since: 0 } },
    );
    expect(changed).to.equal(true);
    expect(record.values).to.deep.equal({ clear: target });
  });
});
