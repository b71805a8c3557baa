import type { Metrics } from '../../application/ports/metrics.ts';
import { gaugesIn } from './gauges.ts';
import { type Instruments, LATENCY, SLOW } from './instruments.ts';

const BLOCKS = [0.03, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 10];

/** Close codes with a label of their own; all others, which clients may choose, share one label. */
const CLOSE_CODES: ReadonlySet<number> = new Set([1000, 1001, 1005, 1006, 1009, 1012, 4401, 4403, 4413]);

/** The metrics of the application, without `atScrape`. */
export const applicationMetrics = (make: Instruments): Omit<Metrics, 'atScrape'> => {
  const { counter, gauge, histogram } = make;
  const appended = counter('events_appended_total', 'Events that were appended to the log.');
  const appendTime = histogram(
    'append_duration_seconds',
    'Time of an append, its wait in the queue included.',
    LATENCY,
  );
  const projected = counter('events_projected_total', 'Events that a projection has folded.', 'projection');
  const projectTime = histogram(
    'projection_batch_duration_seconds',
    'Time of a batch: load, fold, commit.',
    LATENCY,
    'projection',
  );
  const lag = gauge(
    'projection_lag_seconds',
    'How far a projection is behind the end of the log.',
    'max',
    'projection',
  );
  const parked = gauge(
    'projection_parked_tenants',
    'Tenants that a poison event has stopped in a projection.',
    'max',
    'projection',
  );
  const sockets = gauge('websockets_open', 'Open WebSocket connections.', 'sum');
  const closed = counter('websockets_closed_total', 'Closed WebSocket connections, by close code.', 'code');
  const envelopes = counter('websocket_envelopes_total', 'Envelopes that were sent to WebSockets.');
  const blocked = histogram(
    'event_loop_block_seconds',
    'Processor time of ticks of the event loop that took more than 20 ms, by the code that ran.',
    BLOCKS,
    'code',
  );
  const attempts = histogram(
    'webhook_attempt_duration_seconds',
    'Time of an attempt to deliver, by result: delivered, failed, or refused by the guard for outbound calls.',
    SLOW,
    'result',
  );
  const questions = histogram(
    'assistant_question_duration_seconds',
    'Time of a question to the assistant, by outcome.',
    SLOW,
    'outcome',
  );
  const rows = counter('bulk_rows_processed_total', 'Rows of bulk commits, by outcome.', 'outcome');
  return {
    ...gaugesIn(make),
    eventLoopBlocked: (code, seconds) => blocked.observe({ code }, seconds),
    eventsAppended: (count, seconds) => {
      appended.inc(count);
      appendTime.observe(seconds);
    },
    eventsProjected: (projection, count, seconds) => {
      projected.inc({ projection }, count);
      projectTime.observe({ projection }, seconds);
    },
    projectionLag: (projection, seconds) => lag.set({ projection }, seconds),
    parkedTenants: (projection, count) => parked.set({ projection }, count),
    socketsOpen: (count) => sockets.set(count),
    socketClosed: (code) => closed.inc({ code: CLOSE_CODES.has(code) ? code : 'other' }),
    envelopesSent: (count) => envelopes.inc(count),
    deliveryAttempted: (result, seconds) => attempts.observe({ result }, seconds),
    questionAsked: (outcome, seconds) => questions.observe({ outcome }, seconds),
    rowsProcessed: (outcome, count) => rows.inc({ outcome }, count),
  };
};
