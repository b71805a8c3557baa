import { expect } from 'chai';
import { type RecordEvent, type RecordState, recordStream } from '../../../domain/entities/record.ts';
import type { Definition } from '../../../domain/workflow/definition.ts';
import {
  allowedEvents,
  overrideJob,
  type Surroundings,
  type TransitionCommand,
  withJob,
} from '../../../domain/workflow/job.ts';
import { checksOf, machineOf } from '../../../domain/workflow/machine.ts';
import { BEGINNING, given } from '../../support/given.ts';
import { transitionJob } from '../../support/transition-job.ts';
import { change, INVOICES } from './samples.ts';

const base = { record_id: 'r', entity_name: 'invoice' };
const running = { workflow: 'invoices', workflow_version: 3 };
const FIELDS = { title: { type: 'text' }, amount: { type: 'integer' }, tags: { type: 'json' } } as const;

const created = (values: Record<string, string | number | string[]> = {}): RecordEvent => ({
  type: 'RecordCreated',
  data: {
    ...base,
    values,
    types: {},
    schema_revision: 0,
    created_by: 'ann',
    job: { ...running, state: 'draft' },
  },
});
const step = (from: string, to: string, event = 'x'): RecordEvent => ({
  type: 'JobTransitioned',
  data: { ...base, ...running, from_state: from, to_state: to, event_name: event },
});
const deleting: RecordEvent = { type: 'RecordDeletionStarted', data: { ...base, deletion_id: 'd' } };

const around = (role: 'admin' | 'operator' = 'admin', definition: Definition = INVOICES): Surroundings => ({
  machine: machineOf('invoices', 3, definition),
  fields: FIELDS,
  actor: { id: 'ann', role },
  now: BEGINNING,
});
const moving =
  (command: TransitionCommand, surroundings = around()) =>
  (state: RecordState) =>
    transitionJob(state, command, surroundings);
const job = (...events: RecordEvent[]) => given(recordStream, ...events);

const SUBMITTED = [created({ title: 'One', amount: 5 }), step('draft', 'submitted')];
const APPROVED = [...SUBMITTED, step('submitted', 'approved')];

describe('A job', () => {
  it('moves along a transition, with all facts in the event', () => {
    job(created({ title: 'One' }))
      .when(moving({ eventName: 'submit', payload: { by: 'post' } }, around('operator')))
      .gives({
        type: 'JobTransitioned',
        data: {
          ...base,
          ...running,
          from_state: 'draft',
          to_state: 'submitted',
          event_name: 'submit',
          payload: { by: 'post' },
          role: 'operator',
        },
      });
  });

  it('counts the states that it has been in', () => {
    const { state } = job(...APPROVED);
    expect(withJob(state).job).to.deep.equal({
      ...running,
      state: 'approved',
      version: 3,
      startedAt: BEGINNING + 1000,
      movedAt: BEGINNING + 3000,
    });
  });

  it('is not found without a record or a workflow, and while its record is being deleted', () => {
    const plain: RecordEvent = {
      type: 'RecordCreated',
      data: { ...base, values: {}, types: {}, schema_revision: 0, created_by: 'ann' },
    };
    for (const events of [[], [plain], [created(), deleting]]) {
      const scene = job(...events);
      scene.when(moving({ eventName: 'submit' })).isRefused('not_found');
      scene
        .when((state) => overrideJob(state, { toState: 'paid', reason: 'x' }, around().machine))
        .isRefused('not_found');
    }
  });

  it('is moved only by the roles of the transition', () => {
    job(...SUBMITTED)
      .when(moving({ eventName: 'approve' }, around('operator')))
      .isRefused('forbidden');
    expect(
      job(...SUBMITTED)
        .when(moving({ eventName: 'approve' }))
        .events(),
    ).to.have.length(1);
  });

  it('does not move without a transition, and lists the allowed ones', () => {
    job(...SUBMITTED)
      .when(moving({ eventName: 'pay' }))
      .isRefused('invalid_transition', { state: 'submitted', allowed: ['approve', 'send_back', 'touch'] });
    job(...SUBMITTED)
      .when(moving({ eventName: '__proto__' }, around('operator')))
      .isRefused('invalid_transition', { state: 'submitted', allowed: ['send_back', 'touch'] });
  });

  it('does not move from another state than the expected one', () => {
    for (const eventName of ['approve', 'submit']) {
      job(...SUBMITTED)
        .when(moving({ eventName, expectedState: 'draft' }))
        .isRefused('conflict', { state: 'submitted' });
    }
    expect(
      job(...SUBMITTED)
        .when(moving({ eventName: 'approve', expectedState: 'submitted' }))
        .events(),
    ).to.have.length(1);
  });

  it('does not move when another move came after the version seen, even back to the same state', () => {
    const there = [...SUBMITTED, step('submitted', 'draft', 'send_back')];
    job(...there)
      .when(moving({ eventName: 'submit', seenVersion: 1 }))
      .isRefused('conflict', { state: 'draft' });
    expect(
      job(...there)
        .when(moving({ eventName: 'submit', seenVersion: 3 }))
        .events(),
    ).to.have.length(1);
    job(...there)
      .when((state) => overrideJob(state, { toState: 'paid', reason: 'x', seenVersion: 1 }, around().machine))
      .isRefused('conflict', { state: 'draft' });
  });

  for (const [what, values] of [
    ['missing', {}],
    ['white space', { title: ' \n' }],
    ['an empty list', { title: [] }],
  ] as const) {
    it(`does not move when a required field is ${what}`, () => {
      job(created({ ...values } as Record<string, string | string[]>))
        .when(moving({ eventName: 'submit' }))
        .isRefused('constraint_violated', {
          issues: [{ path: 'values.title', code: 'required', message: 'title must not be empty.' }],
        });
    });
  }

  it('accepts zero as the value of a required field', () => {
    const needsAmount = change({
      transitions: [{ event_name: 'submit', from: 'draft', to: 'submitted', required_fields: ['amount'] }],
    });
    expect(
      job(created({ amount: 0 }))
        .when(moving({ eventName: 'submit' }, around('admin', needsAmount)))
        .events(),
    ).to.have.length(1);
  });

  it('does not move when its guard is false, and shows the label or the text', () => {
    job(created({ amount: 1000 }), step('draft', 'submitted'))
      .when(moving({ eventName: 'approve' }))
      .isRefused('guard_rejected', { from: 'submitted', to: 'approved', guard: 'Small enough' });
    job(...APPROVED)
      .when(moving({ eventName: 'pay', payload: { confirmed: false } }))
      .isRefused('guard_rejected', {
        from: 'approved',
        to: 'paid',
        guard: 'payload.confirmed == true',
      });
    expect(
      job(...APPROVED)
        .when(moving({ eventName: 'pay', payload: { confirmed: true } }))
        .events(),
    ).to.have.length(1);
  });

  for (const guard of [
    'record.nothing > 5',
    'record.title > 5',
    'payload.deep.down == 1',
    'this is no guard',
    'unknown_name == 1',
    '"text"',
  ]) {
    it(`does not move when its guard is false or cannot be evaluated: ${guard}`, () => {
      const strange = change({ transitions: [{ event_name: 'go', from: 'draft', to: 'submitted', guard }] });
      job(created({ title: 'x' }))
        .when(moving({ eventName: 'go' }, around('admin', strange)))
        .isRefused('guard_rejected', { from: 'draft', to: 'submitted', guard });
    });
  }

  it('gives guards the record, the state, the actor, the payload and the time', () => {
    const sees = (guard: string, payload = {}) => {
      const definition = change({ transitions: [{ event_name: 'go', from: 'draft', to: 'draft', guard }] });
      const decide = moving({ eventName: 'go', payload }, around('operator', definition));
      try {
        return decide(job(created({ amount: 5 })).state).length === 1;
      } catch {
        return false;
      }
    };
    expect(sees('record.amount == 5')).to.equal(true);
    expect(sees('state == "draft"')).to.equal(true);
    expect(sees('actor.id == "ann" && actor.role == "operator"')).to.equal(true);
    expect(sees('actor.role == "admin"')).to.equal(false);
    expect(sees('payload.sum > 3', { sum: 4 })).to.equal(true);
    expect(sees('now == timestamp("2026-01-01T00:00:00Z")')).to.equal(true);
  });

  it('lists events that the role and the guards allow without a payload', () => {
    const allowed = (events: RecordEvent[], role: 'admin' | 'operator') =>
      allowedEvents(withJob(job(...events).state), around(role));
    expect(allowed([created()], 'operator')).to.deep.equal(['submit', 'touch']);
    expect(allowed(SUBMITTED, 'admin')).to.deep.equal(['approve', 'send_back', 'touch']);
    expect(allowed(SUBMITTED, 'operator')).to.deep.equal(['send_back', 'touch']);
    expect(allowed(APPROVED, 'admin')).to.deep.equal(['send_back']);
    expect(allowed([...APPROVED, step('approved', 'paid')], 'admin')).to.deep.equal([]);
  });

  it('is overridden to any other declared state, also from a final one', () => {
    const paid = [...APPROVED, step('approved', 'paid', 'pay')];
    for (const toState of ['draft', 'submitted', 'approved']) {
      job(...paid)
        .when((state) => overrideJob(state, { toState, reason: 'A mistake.' }, around().machine))
        .gives({
          type: 'JobOverridden',
          data: { ...base, ...running, from_state: 'paid', to_state: toState, reason: 'A mistake.' },
        });
    }
    for (const toState of ['paid', 'nowhere', '__proto__']) {
      job(...paid)
        .when((state) => overrideJob(state, { toState, reason: 'x' }, around().machine))
        .isRefused('invalid_transition', { state: 'paid', allowed: ['draft', 'submitted', 'approved'] });
    }
  });
});

describe('A workflow definition', () => {
  it('needs guards that parse', () => {
    const broken = change({
      transitions: [...INVOICES.transitions, { event_name: 'go', from: 'draft', to: 'paid', guard: '1 +' }],
    });
    expect([...checksOf(broken).issues()].flat().map(({ path }) => path)).to.deep.equal([
      'transitions.5.guard',
    ]);
    expect([...checksOf(INVOICES).issues()].flat()).to.deep.equal([]);
    expect([...checksOf(broken).unfitFor(FIELDS)].flat()).to.deep.equal([]);
  });

  it('needs guards that fit any entity, and existing states and roles', () => {
    const guards = ['1', 'actor.foo == 1', 'actor == null', 'state == "zzz"', 'actor.role == "king"'];
    for (const guard of guards) {
      const broken = change({
        transitions: [...INVOICES.transitions, { event_name: 'go', from: 'draft', to: 'paid', guard }],
      });
      expect(
        [...checksOf(broken).issues()].flat().map(({ path, code }) => [path, code]),
        guard,
      ).to.deep.equal([['transitions.5.guard', 'type_mismatch']]);
      // The issue is reported once, and not again for each entity.
      expect([...checksOf(broken).unfitFor(FIELDS)].flat(), guard).to.deep.equal([]);
    }
    const guard = 'state == "draft" && actor.role in ["admin", "operator"] && record.anything == 1';
    const sound = change({
      transitions: [...INVOICES.transitions, { event_name: 'go', from: 'draft', to: 'paid', guard }],
    });
    expect([...checksOf(sound).issues()].flat()).to.deep.equal([]);
    expect([...checksOf(sound).unfitFor(FIELDS)].flat().map(({ path }) => path)).to.deep.equal([
      'transitions.5.guard',
    ]);
  });

  it('needs the fields that it names, with comparable types', () => {
    expect([...checksOf(INVOICES).unfitFor(FIELDS)].flat()).to.deep.equal([]);
    expect([...checksOf(INVOICES).unfitFor({})].flat().map(({ path }) => path)).to.deep.equal([
      'transitions.0.required_fields.0',
      'transitions.1.guard',
    ]);
    const texts = { title: { type: 'text' }, amount: { type: 'text' } } as const;
    expect([...checksOf(INVOICES).unfitFor(texts)].flat().map(({ path }) => path)).to.deep.equal([
      'transitions.1.guard',
    ]);
  });
});
