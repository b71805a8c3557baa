import { expect } from 'chai';
import fc from 'fast-check';
import { DomainError } from '../../domain/core/errors.ts';
import type { Document, ProjectedEvent } from '../../domain/core/projection.ts';
import { type RecordEvent, type RecordState, recordStream } from '../../domain/entities/record.ts';
import { type Definition, fromStates, structureIssues } from '../../domain/workflow/definition.ts';
import { allowedEvents, overrideJob, withJob } from '../../domain/workflow/job.ts';
import { machineOf } from '../../domain/workflow/machine.ts';
import { type JobDoc, type JobMoveDoc, jobsProjection } from '../../projections/workflow/jobs.ts';
import { BEGINNING } from '../support/given.ts';
import { transitionJob } from '../support/transition-job.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e'];
const EVENTS = ['go', 'back', 'jump'];

/** Valid definitions: a chain that reaches all states, and random further transitions. */
const definitions: fc.Arbitrary<Definition> = fc
  .record({
    size: fc.integer({ min: 1, max: KEYS.length }),
    isFinal: fc.boolean(),
    extra: fc.array(
      fc.record({
        event_name: fc.constantFrom(...EVENTS),
        from: fc.nat(4),
        to: fc.nat(4),
        admin: fc.boolean(),
        guard: fc.constantFrom(undefined, 'record.n > 2', 'payload.yes == true', 'actor.role == "admin"'),
      }),
      { maxLength: 8 },
    ),
  })
  .map(({ size, isFinal, extra }) => {
    const keys = KEYS.slice(0, size);
    const last = keys.at(-1) ?? 'a';
    const taken = new Set<string>();
    const transitions: Definition['transitions'] = [];
    const add = (transition: Definition['transitions'][number]): void => {
      const [from = ''] = fromStates(transition);
      if ((isFinal && from === last) || taken.has(`${from}/${transition.event_name}`)) return;
      taken.add(`${from}/${transition.event_name}`);
      transitions.push(transition);
    };
    for (const [i, to] of keys.slice(1).entries()) add({ event_name: 'next', from: keys[i] ?? 'a', to });
    for (const { event_name, from, to, admin, guard } of extra) {
      add({
        event_name,
        from: keys[from % size] ?? 'a',
        to: keys[to % size] ?? 'a',
        ...(admin ? { roles: ['admin'] } : {}),
        ...(guard === undefined ? {} : { guard }),
      });
    }
    const states = keys.map((key) => ({
      key,
      label: key,
      ...(isFinal && key === last ? { final: true } : {}),
    }));
    return { initial: 'a', states, transitions };
  });

const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('transition' as const),
      eventName: fc.constantFrom('next', ...EVENTS, 'unknown'),
      payload: fc.constantFrom(undefined, { yes: true }, { yes: false }),
      role: fc.constantFrom('admin' as const, 'operator' as const),
    }),
    fc.record({
      kind: fc.constant('override' as const),
      toState: fc.constantFrom(...KEYS, 'nowhere'),
    }),
  ),
  { maxLength: 40 },
);

const FIELDS = { n: { type: 'integer' } } as const;

describe('Any walk of a job', () => {
  it('keeps state, history and version consistent, in the stream and in the read model', () => {
    fc.assert(
      fc.property(definitions, fc.integer({ min: 0, max: 5 }), steps, (definition, n, walk) => {
        expect(structureIssues(definition)).to.deep.equal([]);
        const machine = machineOf('flow', 1, definition);
        const documents = new Map<string, Document>();
        let revision = -1;
        let state: RecordState = recordStream.initial;
        const append = (event: RecordEvent): void => {
          revision += 1;
          const at = BEGINNING + revision;
          state = recordStream.evolve(state, event, { at, revision });
          const projected: ProjectedEvent = {
            ...event,
            id: `e${revision}`,
            tenantId: 'acme',
            stream: 'acme.record-r',
            revision,
            at,
            actor: { kind: 'user', id: 'ann' },
            impersonatedBy: undefined,
            position: String(revision).padStart(16, '0'),
          };
          for (const { collection, id, change } of jobsProjection.fold(projected)) {
            const changed = change(documents.get(`${collection}/${id}`));
            if (changed !== undefined) documents.set(`${collection}/${id}`, changed);
          }
        };
        append({
          type: 'RecordCreated',
          data: {
            record_id: 'r',
            entity_name: 'thing',
            values: { n },
            types: {},
            schema_revision: 0,
            created_by: 'ann',
            job: { workflow: 'flow', workflow_version: 1, state: definition.initial },
          },
        });
        let moves = 0;
        for (const step of walk) {
          const before = withJob(state);
          const role = step.kind === 'transition' ? step.role : 'admin';
          const surroundings = { machine, fields: FIELDS, actor: { id: 'ann', role }, now: BEGINNING };
          const wasAllowed = allowedEvents(before, surroundings);
          try {
            const events =
              step.kind === 'transition'
                ? transitionJob(state, step, surroundings)
                : overrideJob(state, { toState: step.toState, reason: 'why' }, machine);
            events.forEach(append);
            moves += 1;
          } catch (error) {
            if (!(error instanceof DomainError)) throw error;
            // An allowed event is never refused: an event whose guard needs the payload is not among the allowed events.
            if (step.kind === 'transition') expect(wasAllowed).not.to.include(step.eventName);
            expect(withJob(state)).to.deep.equal(before);
          }
        }
        const { job, version } = withJob(state);
        expect([job.version, version]).to.deep.equal([moves + 1, moves + 1]);
        const history = [...documents]
          .filter(([key]) => key.startsWith('job_moves/'))
          // The collection holds what the projection wrote and nothing else.
          .map(([, doc]) => doc as unknown as JobMoveDoc)
          .toSorted((one, other) => one.seq - other.seq);
        expect(history).to.have.length(moves);
        let at = definition.initial;
        for (const move of history) {
          expect(move.from_state).to.equal(at);
          if (move.override !== true) {
            expect(machine.edgesFrom(at).get(move.event_name)?.to).to.equal(move.to_state);
          }
          at = move.to_state;
        }
        expect(job.state).to.equal(at);
        expect(documents.get('jobs/r') as unknown as JobDoc).to.deep.include({
          state: at,
          version: moves + 1,
          updated_at: new Date(job.movedAt).toISOString(),
          created_at: new Date(job.startedAt).toISOString(),
        });
      }),
      { numRuns: 120 },
    );
  }).timeout(60_000);
});
