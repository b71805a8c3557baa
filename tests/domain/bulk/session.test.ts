import { expect } from 'chai';
import fc from 'fast-check';
import {
  type BulkState,
  bulkStream,
  processedOf,
  type SessionState,
  sessionIn,
} from '../../../domain/bulk/session.ts';
import {
  cancelSession,
  failCommit,
  finishCommit,
  finishPreview,
  freezeRows,
  recordPreviewErrors,
  recordRows,
  startCommit,
  startPreview,
  startRun,
  TakenOver,
} from '../../../domain/bulk/session-decisions.ts';
import type { BulkEvent, RowError } from '../../../domain/bulk/session-events.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { BEGINNING, given } from '../../support/given.ts';

const BEGUN = {
  id: 's',
  attempt: 'first',
  entityName: 'thing',
  opParams: { kind: 'delete' },
  selection: { kind: 'ids' },
  createdBy: 'ann',
} as const;

const started: BulkEvent = {
  type: 'BulkPreviewStarted',
  data: {
    session_id: 's',
    attempt: 'first',
    entity_name: 'thing',
    op_params: { kind: 'delete' },
    selection: { kind: 'ids' },
    created_by: 'ann',
  },
};
const rows = [
  { record_id: 'a', version: 1 },
  { record_id: 'b', version: 1 },
  { record_id: 'c', version: 0 },
];
const frozen: BulkEvent = {
  type: 'BulkRowsResolved',
  data: { session_id: 's', attempt: 'first', first: 0, rows },
};
const COUNTS = { total_resolved: 3, would_succeed: 2, would_skip: 0, would_error: 1 };
const previewed: BulkEvent = {
  type: 'BulkPreviewed',
  data: { session_id: 's', attempt: 'first', ...COUNTS, sample_affected: [] },
};
const committing: BulkEvent = { type: 'BulkCommitStarted', data: { session_id: 's', committed_by: 'ann' } };
const run = (n: number): BulkEvent => ({ type: 'BulkRunStarted', data: { session_id: 's', run: n } });
const errorOf = (row: number): RowError => ({
  row,
  record_id: `r${row}`,
  current_state: '',
  code: 'record_not_found',
  message: 'gone',
});
const PREVIEW = [started, frozen, previewed];

describe('A bulk session', () => {
  it('is not found until its preview is complete', () => {
    for (const history of [[], [started], [started, frozen]]) {
      const story = given(bulkStream, ...history);
      for (const decide of [cancelSession, startRun]) story.when(decide).isRefused('not_found');
      story
        .when((state) => startCommit(state, { committedBy: 'ann', countAtCommit: undefined }))
        .isRefused('not_found');
    }
  });

  it('is previewed when all its rows are frozen and counted', () => {
    const finish = (counts: typeof COUNTS) => (state: BulkState) =>
      finishPreview(state, 'first', { counts, cascadeSummary: undefined, sample: [] });
    given(bulkStream, started, frozen).when(finish(COUNTS)).gives(previewed);
    for (const counts of [
      { ...COUNTS, would_skip: 1 },
      { ...COUNTS, total_resolved: 4, would_skip: 1 },
    ]) {
      expect(() => given(bulkStream, started, frozen).when(finish(counts)).events()).to.throw('add up');
    }
    expect(() =>
      given(bulkStream, started, frozen)
        .when((state) => freezeRows(state, 'first', 2, rows))
        .events(),
    ).to.throw('after 3');
  });

  it('ignores an earlier attempt when its preview restarts', () => {
    const second: BulkEvent = { ...started, data: { ...started.data, attempt: 'second' } };
    given(bulkStream, started, frozen)
      .when((state) => startPreview(state, { ...BEGUN, attempt: 'second' }))
      .gives(second);
    const story = given(bulkStream, started, frozen, second);
    expect(story.state).to.include({ status: 'previewing', frozen: 0, attempt: 'second' });
    story.when((state) => freezeRows(state, 'first', 0, rows)).isRefused('conflict');
    story.when((state) => recordPreviewErrors(state, 'first', [errorOf(0)])).isRefused('conflict');
    expect(given(bulkStream, started, second, frozen).state).to.include({ frozen: 0 });
    given(bulkStream, ...PREVIEW)
      .when((state) => startPreview(state, { ...BEGUN, attempt: 'second' }))
      .givesNothing();
  });

  it('can be cancelled or committed only when previewed, and lists the allowed states', () => {
    const commit = (state: BulkState) => startCommit(state, { committedBy: 'ann', countAtCommit: 4 });
    given(bulkStream, ...PREVIEW)
      .when(commit)
      .gives({
        type: 'BulkCommitStarted',
        data: { session_id: 's', committed_by: 'ann', count_at_commit: 4 },
      });
    const cancelled: BulkEvent = { type: 'BulkCancelled', data: { session_id: 's' } };
    given(bulkStream, ...PREVIEW)
      .when(cancelSession)
      .gives(cancelled);
    for (const [state, more] of [
      ['cancelled', [cancelled]],
      ['committing', [committing]],
      ['committing', [committing, run(1)]],
    ] as const) {
      for (const decide of [commit, cancelSession]) {
        given(bulkStream, ...PREVIEW, ...more)
          .when(decide)
          .isRefused('invalid_transition', { state, allowed: [] });
      }
    }
  });

  it('accepts rows from its latest run only', () => {
    const story = given(bulkStream, ...PREVIEW, committing, run(1), run(2));
    const done = { succeeded: [0, 1], skipped: [], errors: [errorOf(2)] };
    expect(() => story.when((state) => recordRows(state, 1, done)).events()).to.throw(TakenOver);
    expect(() => story.when((state) => finishCommit(state, 1, undefined)).events()).to.throw(TakenOver);
    story
      .when((state) => recordRows(state, 2, done))
      .gives({ type: 'BulkRowsProcessed', data: { session_id: 's', run: 2, ...done } });
    story.when(startRun).gives(run(3));
  });

  it('is committed only when all rows are processed; when errored, it counts the remaining rows', () => {
    const part: BulkEvent = {
      type: 'BulkRowsProcessed',
      data: { session_id: 's', run: 1, succeeded: [0], skipped: [], errors: [errorOf(2)] },
    };
    const story = given(bulkStream, ...PREVIEW, committing, run(1), part);
    expect(() => story.when((state) => finishCommit(state, 1, undefined)).events()).to.throw('not all');
    const totals = { session_id: 's', run: 1, succeeded: 1, skipped: 0, errored: 1 };
    story
      .when((state) => failCommit(state, 1, undefined))
      .gives({ type: 'BulkCommitErrored', data: { ...totals, not_processed: 1 } });
    const rest = { succeeded: [1, 2], skipped: [], errors: [] };
    expect(() => story.when((state) => recordRows(state, 1, rest)).events()).to.throw('more rows');
  });
});

/** Any command at any time. */
const steps = fc.array(
  fc.oneof(
    fc
      .constantFrom('cancel', 'commit', 'run', 'finish', 'fail')
      .map((kind) => ({ kind, row: 0, run: 0, as: 0 })),
    fc.record({
      kind: fc.constant('rows'),
      row: fc.nat(2),
      run: fc.nat(1),
      as: fc.nat(2),
    }),
  ),
  { maxLength: 30 },
);

const LEGAL: Readonly<Record<string, readonly string[]>> = {
  previewed: ['previewed', 'committing', 'cancelled'],
  committing: ['committing', 'committed', 'errored'],
  committed: ['committed'],
  errored: ['errored'],
  cancelled: ['cancelled'],
};

describe('Any history of a bulk session', () => {
  it('has only legal transitions, and its counts add up', () => {
    fc.assert(
      fc.property(steps, (history) => {
        let state: BulkState = bulkStream.initial;
        let revision = 0;
        const append = (event: BulkEvent): void => {
          state = bulkStream.evolve(state, event, { at: BEGINNING + revision, revision });
          revision += 1;
        };
        PREVIEW.forEach(append);
        // The runner processes no row twice; decisions do not check that.
        const done = new Set<number>();
        for (const { kind, row, run: late, as } of history) {
          const before: SessionState = sessionIn(state);
          const current = before.run - late;
          const one = {
            succeeded: as === 0 ? [row] : [],
            skipped: as === 1 ? [row] : [],
            errors: as === 2 ? [errorOf(row)] : [],
          };
          const decide = {
            cancel: () => cancelSession(before),
            commit: () => startCommit(before, { committedBy: 'ann', countAtCommit: undefined }),
            run: () => startRun(before),
            finish: () => finishCommit(before, before.run, undefined),
            fail: () => failCommit(before, before.run, undefined),
            rows: () => (done.has(row) ? [] : recordRows(before, current, one)),
          }[kind];
          try {
            const events = decide?.() ?? [];
            events.forEach(append);
            if (kind === 'rows' && events.length > 0) done.add(row);
          } catch (error) {
            const isRefusal = error instanceof DomainError || error instanceof TakenOver;
            if (!isRefusal) expect(String(error)).to.contain('not all rows');
            expect(state).to.equal(before);
          }
          const after = sessionIn(state);
          expect(LEGAL[before.status]).to.include(after.status);
          expect(processedOf(after.done)).to.equal(done.size);
          expect(after.counts).to.deep.equal(COUNTS);
          if (after.result !== undefined) {
            expect(processedOf(after.result) + (after.result.not_processed ?? 0)).to.equal(3);
          }
          if (after.status === 'committed') expect(processedOf(after.done)).to.equal(3);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
