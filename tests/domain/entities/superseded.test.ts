import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalJson } from '../../../application/canonical-json.ts';
import { type RecordState, recordDecider } from '../../../domain/entities/record.ts';
import type { RecordEvent } from '../../../domain/entities/record-events.ts';

const base = { record_id: 'r', entity_name: 'thing' };
const created: RecordEvent = {
  type: 'RecordCreated',
  data: { ...base, values: {}, types: {}, schema_revision: 0, created_by: 'ann' },
};

/** Values may look like what is looked for. */
const text = fc.constantFrom('a', '"registrations":', '{"registrations":{}}', 'registrations');
const registrations = fc.dictionary(fc.constantFrom('ref', 'other'), fc.constantFrom('x', 'y'));

const updated = fc
  .record({
    values: fc.dictionary(fc.constantFrom('n', 'ref', 'other', 'registrations'), text),
    registrations: fc.option(registrations, { nil: undefined }),
  })
  .map(
    ({ values, registrations }): RecordEvent => ({
      type: 'RecordUpdated',
      data: {
        ...base,
        values,
        types: Object.fromEntries(Object.keys(values).map((key) => [key, 'text' as const])),
        changed: Object.keys(values),
        version: 2,
        ...(registrations === undefined ? {} : { registrations }),
        schema_revision: 1,
      },
    }),
  );
const started: RecordEvent = { type: 'RecordDeletionStarted', data: { ...base, deletion_id: 'd' } };
const deleted: RecordEvent = {
  type: 'RecordDeleted',
  data: { ...base, deletion_id: 'd', values: {}, version: 9 },
};
const barred: RecordEvent = { type: 'ReferenceBarred', data: { ...base, registration_id: 'g' } };

const event: fc.Arbitrary<RecordEvent> = fc.oneof(
  { weight: 8, arbitrary: updated },
  { weight: 1, arbitrary: fc.constantFrom(created, started, deleted, barred) },
);

describe('Superseded updates of a record', () => {
  const folded = (events: readonly RecordEvent[], skips: boolean) => {
    let state: RecordState = recordDecider.initial;
    let skipped = 0;
    for (const [at, one] of events.entries()) {
      const next = events[at + 1];
      const stored = { type: one.type, data: canonicalJson(one.data) };
      if (skips && next !== undefined && recordDecider.isSuperseded?.(state, stored, next)) skipped += 1;
      else state = recordDecider.evolve(state, one, { at: at * 10, revision: at });
    }
    return { state, skipped };
  };

  it('need not be read: the state is the same without them', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), fc.boolean(), (events, isThere) => {
        const all = isThere ? [created, ...events] : events;
        expect(folded(all, true).state).to.deep.equal(folded(all, false).state);
      }),
      { numRuns: 1000 },
    );
  });

  it('are all but the last where nothing was ever registered', () => {
    const [one, two, three] = fc.sample(
      updated.filter(
        ({ data }) => !('registrations' in data) && !canonicalJson(data).includes('registrations'),
      ),
      3,
    );
    if (one === undefined || two === undefined || three === undefined) throw new Error('three are needed');
    expect(folded([created, one, two, three], true).skipped).to.equal(2);
    expect(folded([created, one, barred, two], true).skipped).to.equal(0);
  });
});
