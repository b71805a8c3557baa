import { expect } from 'chai';
import type { RecordEvent } from '../../../domain/entities/record.ts';
import { type RecordDoc, recordsProjection } from '../../../projections/entities/records.ts';
import { folded } from '../../support/folded.ts';
import { BEGINNING } from '../../support/given.ts';

const base = { record_id: 'r', entity_name: 'thing' };
const created: RecordEvent = {
  type: 'RecordCreated',
  data: {
    ...base,
    values: { d: '10', ref: 't', also: 't', j: { a: 1 } },
    types: { d: 'decimal', ref: 'reference', also: 'reference', j: 'json' },
    schema_revision: 0,
    created_by: 'ann',
  },
};
const job = { workflow: 'flow', workflow_version: 1 };
const iso = (seconds: number): string => new Date(BEGINNING + seconds * 1000).toISOString();

const recordAfter = (...story: RecordEvent[]): RecordDoc | undefined =>
  // The collection holds nothing else.
  folded(recordsProjection, story).get('records/acme/r') as RecordDoc | undefined;

describe('The records read model', () => {
  it('shows a record with its order keys', () => {
    const { keys, ...doc } = recordAfter(created) ?? { keys: {} };
    expect(doc).to.deep.equal({
      id: 'r',
      entity_name: 'thing',
      listed: 'thing',
      values: { d: '10', ref: 't', also: 't', j: { a: 1 } },
      refs: ['t'],
      state: null,
      job_id: null,
      version: 1,
      created_at: iso(1),
      updated_at: iso(1),
      created_by: 'ann',
      deletion_id: null,
    });
    expect(Object.keys(keys).sort()).to.deep.equal(['also', 'd', 'j', 'ref']);
  });

  it('follows changes of values and state', () => {
    const doc = recordAfter(
      created,
      { type: 'RecordUpdated', data: { ...base, values: {}, types: {}, changed: ['d'], version: 2 } },
      { type: 'JobStarted', data: { ...base, ...job, state: 'open' } },
      {
        type: 'JobTransitioned',
        data: { ...base, ...job, from_state: 'open', to_state: 'done', event_name: 'finish' },
      },
    );
    expect(doc).to.deep.include({ values: {}, refs: [], keys: {}, state: 'done', job_id: 'r', version: 4 });
    expect(doc?.updated_at).to.equal(iso(4));
  });

  it('hides a record during its deletion, and shows it again when abandoned', () => {
    const started: RecordEvent = { type: 'RecordDeletionStarted', data: { ...base, deletion_id: 'd' } };
    expect(recordAfter(created, started)).to.deep.include({ listed: null, deletion_id: 'd', refs: ['t'] });
    const given: RecordEvent = { type: 'RecordDeletionAbandoned', data: { ...base, deletion_id: 'd' } };
    expect(recordAfter(created, started, given)).to.deep.equal(recordAfter(created));
    const deleted: RecordEvent = {
      type: 'RecordDeleted',
      data: { ...base, deletion_id: 'd', values: {}, version: 1 },
    };
    expect(recordAfter(created, started, deleted)).to.equal(undefined);
  });

  it('creates no record from changes alone', () => {
    const late: RecordEvent = { type: 'ReferenceBarred', data: { ...base, registration_id: 'x' } };
    expect(recordAfter(late)).to.equal(undefined);
  });
});
