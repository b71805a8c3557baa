import { expect } from 'chai';
import {
  abandonDeletion,
  barReference,
  clearReferences,
  finishDeletion,
  markForDeletion,
  registerReference,
  releaseReferences,
  startDeletion,
} from '../../../domain/entities/deletion.ts';
import type { Field } from '../../../domain/entities/fields.ts';
import { addNote } from '../../../domain/entities/notes.ts';
import { type RecordEvent, type RecordState, recordStream } from '../../../domain/entities/record.ts';
import { createRecord, updateRecord } from '../../../domain/entities/record-values.ts';
import { startJob } from '../../../domain/workflow/job.ts';
import { BEGINNING, given, refusal } from '../../support/given.ts';

const FIELDS: readonly Field[] = [
  { key: 'n', label: 'N', type: 'integer', required: false, max: 10 },
  { key: 'must', label: 'M', type: 'text', required: true, default: 'x' },
  {
    key: 'ref',
    label: 'R',
    type: 'reference',
    required: false,
    reference: { entity_name: 'thing', on_delete: 'clear' },
  },
];
const SCHEMA = { name: 'thing', fields: FIELDS, proposed: undefined, revision: 3 };
const NOTHING = { missing: new Set<string>(), registrations: {} };

const created = (
  values: Record<string, string | number> = { must: 'x' },
  more: object = {},
): RecordEvent => ({
  type: 'RecordCreated',
  data: {
    record_id: 'r',
    entity_name: 'thing',
    values,
    types: { must: 'text', ...('ref' in values ? { ref: 'reference' as const } : {}) },
    schema_revision: 3,
    created_by: 'ann',
    ...more,
  },
});
const base = { record_id: 'r', entity_name: 'thing' };
const started = (id: string, more: object = {}): RecordEvent => ({
  type: 'RecordDeletionStarted',
  data: { ...base, deletion_id: id, ...more },
});
const registration = (id: string) => ({
  id,
  referrer: { record_id: 'other', entity_name: 'thing', field_key: 'ref' },
});
const registered = (id: string): RecordEvent => ({
  type: 'ReferenceRegistered',
  data: { ...base, registration_id: id, referrer: registration(id).referrer },
});

describe('A record', () => {
  const create =
    (values: Record<string, unknown>, facts = NOTHING) =>
    (state: RecordState) =>
      createRecord(state, SCHEMA, { id: 'r', values, createdBy: 'ann' }, facts);
  const update =
    (values: Record<string, unknown>, more: object = {}) =>
    (state: RecordState) =>
      updateRecord(state, SCHEMA, { values, ...more }, NOTHING);

  describe('created', () => {
    it('has defaults, typed values, and no null value', () => {
      const facts = { ...NOTHING, registrations: { ref: 'registration' } };
      given(recordStream)
        .when(create({ n: null, ref: 'id' }, facts))
        .gives({
          type: 'RecordCreated',
          data: {
            ...base,
            values: { ref: 'id', must: 'x' },
            types: { ref: 'reference', must: 'text' },
            registrations: { ref: 'registration' },
            schema_revision: 3,
            created_by: 'ann',
          },
        });
    });

    it('is refused for an id in use', () => {
      given(recordStream, created()).when(create({})).isRefused('conflict');
    });

    it('is refused for missing link targets, with all other issues', () => {
      const facts = { ...NOTHING, missing: new Set(['ref']) };
      given(recordStream)
        .when(create({ n: 11, ref: 'id' }, facts))
        .isRefused('constraint_violated');
      given(recordStream)
        .when(create({ n: 'x', ref: 'id' }, facts))
        .isRefused('validation_failed');
    });

    it('is refused for values that a proposed change would not allow', () => {
      const proposed = FIELDS.filter(({ key }) => key !== 'n');
      const decide = (values: Record<string, unknown>) => (state: RecordState) =>
        createRecord(state, { ...SCHEMA, proposed }, { id: 'r', values, createdBy: 'ann' }, NOTHING);
      given(recordStream)
        .when(decide({ n: 1 }))
        .isRefused('conflict');
      expect(given(recordStream).when(decide({})).events()).to.have.length(1);
    });
  });

  describe('changed', () => {
    it('carries all values, the changed keys and the next version', () => {
      given(recordStream, created({ must: 'x', n: 1 }))
        .when(update({ n: null, must: 'y' }))
        .gives({
          type: 'RecordUpdated',
          data: {
            ...base,
            values: { must: 'y' },
            types: { must: 'text' },
            changed: ['must', 'n'],
            version: 2,
            schema_revision: 3,
          },
        });
    });

    it('to equal values gives no events', () => {
      given(recordStream, created({ must: 'x', n: 1 }))
        .when(update({ n: 1, ref: null }))
        .givesNothing();
      given(recordStream, created())
        .when(update({ n: 2 }))
        .thenAgainNothing();
    });

    it('checks types, then the version, then constraints', () => {
      const story = given(recordStream, created());
      story.when(update({ n: 'x' }, { ifVersion: 2 })).isRefused('validation_failed');
      story.when(update({ n: 11 }, { ifVersion: 2 })).isRefused('conflict');
      story.when(update({ n: 11 }, { ifVersion: 1 })).isRefused('constraint_violated');
      story.when(update({ must: null })).isRefused('validation_failed');
    });

    it('is not found for an unknown, deleted or half-deleted record, or one of another entity', () => {
      given(recordStream).when(update({})).isRefused('not_found');
      given(recordStream, created(), started('d')).when(update({})).isRefused('not_found');
      const { state } = given(recordStream, created());
      const elsewhere = () => updateRecord(state, { ...SCHEMA, name: 'other' }, { values: {} }, NOTHING);
      expect(refusal(elsewhere).code).to.equal('not_found');
    });
  });

  describe('with a job', () => {
    const job = { workflow: 'flow', workflow_version: 2, state: 'open' };

    it('gets it at creation or later, once', () => {
      const { state } = given(recordStream, created({ must: 'x' }, { job }));
      expect(state).to.have.property('version', 1);
      expect('job' in state ? state.job : undefined).to.deep.include({ ...job, startedAt: BEGINNING + 1000 });
      given(recordStream, created())
        .when((now) => startJob(now, job))
        .thenAgainNothing();
      given(recordStream, created({ must: 'x' }, { job }))
        .when((now) => startJob(now, job))
        .givesNothing();
      given(recordStream)
        .when((now) => startJob(now, job))
        .givesNothing();
    });

    it('raises the version at each change of the job’s state', () => {
      const move = { ...base, workflow: 'flow', workflow_version: 2, from_state: 'open', to_state: 'done' };
      const { state } = given(
        recordStream,
        created(),
        { type: 'JobStarted', data: { ...base, ...job } },
        { type: 'JobTransitioned', data: { ...move, event_name: 'finish' } },
        { type: 'JobOverridden', data: { ...move, from_state: 'done', to_state: 'open', reason: 'no' } },
      );
      expect(state).to.have.nested.property('job.state', 'open');
      expect(state).to.have.property('version', 4);
    });
  });

  describe('pointed to', () => {
    it('registers a referrer while it is live and of the entity', () => {
      const register = (entity: string) => (state: RecordState) =>
        registerReference(state, entity, registration('one'));
      given(recordStream, created()).when(register('thing')).gives(registered('one'));
      given(recordStream, created()).when(register('other')).isRefused('not_found');
      given(recordStream, created(), started('d')).when(register('thing')).isRefused('not_found');
      given(recordStream).when(register('thing')).isRefused('not_found');
    });

    it('releases its registrations, once', () => {
      const { state } = given(recordStream, created(), registered('one'), registered('two'));
      expect(state).to.have.property('pending').with.length(2);
      const release = (now: RecordState) => releaseReferences(now, ['two', 'three']);
      const story = given(recordStream, created(), registered('one'), registered('two'));
      expect(story.when(release).events()).to.have.length(1);
      story.when(release).thenAgainNothing();
    });

    it('keeps a reference until it is cleared', () => {
      const story = given(recordStream, created({ must: 'x', ref: 't' }, { registrations: { ref: 'one' } }));
      expect(story.state).to.have.deep.property('registrations', { ref: 'one' });
      story.when((state) => clearReferences(state, 'other')).givesNothing();
      const clear = (state: RecordState) => clearReferences(state, 't');
      const [event] = story.when(clear).events();
      expect(event?.data).to.deep.include({
        values: { must: 'x' },
        version: 2,
        cleared_by: 't',
        changed: ['ref'],
      });
      story.when(clear).thenAgainNothing();
    });

    it('bars a registration once, even before the referring record exists', () => {
      const bar = (state: RecordState) => barReference(state, registration('one'));
      for (const history of [[], [created()], [created(), started('d')]]) {
        given(recordStream, ...history)
          .when(bar)
          .thenAgainNothing();
        expect(
          given(recordStream, ...history)
            .when(bar)
            .events(),
        ).to.have.length(1);
      }
      const late: RecordEvent = { type: 'ReferenceBarred', data: { ...base, registration_id: 'one' } };
      expect(given(recordStream, late, created()).state).to.have.deep.property('barred', ['one']);
    });
  });

  describe('deleted', () => {
    it('is deleted at the expected version', () => {
      const remove = (ifVersion?: number) => (state: RecordState) =>
        startDeletion(state, 'thing', { deletionId: 'd', ifVersion });
      given(recordStream, created()).when(remove(2)).isRefused('conflict');
      given(recordStream, created()).when(remove(1)).gives(started('d'));
      given(recordStream, created(), started('d')).when(remove()).isRefused('not_found');
    });

    it('carries its last values and version', () => {
      given(recordStream, created(), started('d', { cascade_of: 'root' }))
        .when((state) => finishDeletion(state, 'd'))
        .gives({
          type: 'RecordDeleted',
          data: { ...base, deletion_id: 'd', cascade_of: 'root', values: { must: 'x' }, version: 1 },
        });
    });

    it('is finished or abandoned only by the attempt that began it', () => {
      const story = given(recordStream, created(), started('d'));
      story.when((state) => finishDeletion(state, 'other')).givesNothing();
      story.when((state) => abandonDeletion(state, 'other')).givesNothing();
      story.when((state) => abandonDeletion(state, 'd')).thenAgainNothing();
      given(recordStream, created())
        .when((state) => finishDeletion(state, 'd'))
        .givesNothing();
    });

    it('cascades to live records that still point to it', () => {
      const mark = (state: RecordState) => markForDeletion(state, 't', { deletionId: 'd', rootId: 'root' });
      given(recordStream, created()).when(mark).givesNothing();
      given(recordStream, created({ must: 'x', ref: 't' }))
        .when(mark)
        .gives(started('d', { cascade_of: 'root' }));
      given(recordStream, created({ must: 'x', ref: 't' }), started('e'))
        .when(mark)
        .givesNothing();
    });

    it('is restored unchanged when abandoned', () => {
      const { state: before } = given(recordStream, created());
      const { state } = given(recordStream, created(), started('d'), {
        type: 'RecordDeletionAbandoned',
        data: { ...base, deletion_id: 'd' },
      });
      expect(state).to.deep.equal(before);
    });

    it('refuses notes', () => {
      const note = {
        noteId: 'n',
        author: { kind: 'user', id: 'ann' },
        authorUserId: 'ann',
        body: 'x',
        mentioned: [],
      };
      const add = (state: RecordState) => addNote(state, 'thing', note);
      given(recordStream, created(), started('d')).when(add).isRefused('not_found');
      expect(given(recordStream, created()).when(add).events()).to.have.length(1);
    });
  });
});
