import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Metrics } from '../../application/ports/metrics.ts';
import type { ErrorAnswer } from './errors.ts';
import type { CutReason } from './pending-answers.ts';

/** Counts one answer. @param status HTTP status @param seconds from the request's arrival to its answer */
export type ObserveAnswer = (status: number, seconds: number) => void;

export interface HttpMetrics {
  /** The observer of one route: resolves its labels once. */
  route(method: string, pattern: string): ObserveAnswer;
  /** Counts a request that exceeded a limit; other answers are ignored. */
  refused(answer: ErrorAnswer): void;
  /** Bytes of answers that wait for their readers. */
  pendingAnswers(bytes: number): void;
  /** A connection was closed because its reader left too much unread. */
  connectionCut(reason: CutReason): void;
  /** Metrics in Prometheus text format. */
  expose(): Promise<string>;
  readonly contentType: string;
}

const LATENCY = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const BLOCKS = [0.03, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 10];

/**
 * The application's metrics and the HTTP latency in one registry (`GET /metrics`).
 * @param options.process also collects memory, event loop lag and garbage collection
 */
export const createMetrics = (options: { process?: boolean } = {}): Metrics & HttpMetrics => {
  const registry = new Registry();
  const registers = [registry];
  if (options.process !== false) collectDefaultMetrics({ register: registry });
  const latency = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to its answer.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: LATENCY,
    registers,
  });
  const appended = new Counter({
    name: 'events_appended_total',
    help: 'Events that were appended to the log.',
    registers,
  });
  const appendTime = new Histogram({
    name: 'append_duration_seconds',
    help: 'Time of an append, its wait in the queue included.',
    buckets: LATENCY,
    registers,
  });
  const projected = new Counter({
    name: 'events_projected_total',
    help: 'Events that a projection has folded.',
    labelNames: ['projection'] as const,
    registers,
  });
  const projectTime = new Histogram({
    name: 'projection_batch_duration_seconds',
    help: 'Time of a batch: load, fold, commit.',
    labelNames: ['projection'] as const,
    buckets: LATENCY,
    registers,
  });
  const lag = new Gauge({
    name: 'projection_lag_seconds',
    help: 'How far a projection is behind the end of the log.',
    labelNames: ['projection'] as const,
    registers,
  });
  const parked = new Gauge({
    name: 'projection_parked_tenants',
    help: 'Tenants that a poison event has stopped in a projection.',
    labelNames: ['projection'] as const,
    registers,
  });
  const refusals = new Counter({
    name: 'requests_refused_total',
    help: 'Requests that exceeded a limit (docs/limits.md), WebSocket handshakes included.',
    labelNames: ['limit'] as const,
    registers,
  });
  const sockets = new Gauge({ name: 'websockets_open', help: 'Open WebSocket connections.', registers });
  const envelopes = new Counter({
    name: 'websocket_envelopes_total',
    help: 'Envelopes that were sent to WebSockets.',
    registers,
  });
  const blocked = new Histogram({
    name: 'event_loop_block_seconds',
    help: 'Processor time of ticks of the event loop that took more than 20 ms, by the code that ran.',
    labelNames: ['code'] as const,
    buckets: BLOCKS,
    registers,
  });
  const pending = new Gauge({
    name: 'http_pending_answer_bytes',
    help: 'Bytes of answers that wait for their readers.',
    registers,
  });
  const cut = new Counter({
    name: 'http_connections_cut_total',
    help: 'Connections closed because their readers left answers unread, by limit.',
    labelNames: ['limit'] as const,
    registers,
  });
  return {
    pendingAnswers: (bytes) => pending.set(bytes),
    connectionCut: (limit) => cut.inc({ limit }),
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
    envelopesSent: (count) => envelopes.inc(count),
    refused: ({ body }) => {
      const limit = body.error === 'rate_limited' ? body.details?.limit : undefined;
      if (typeof limit === 'string') refusals.inc({ limit });
    },
    route: (method, pattern) => {
      const classes: { observe(seconds: number): void }[] = [];
      return (status, seconds) => {
        const hundreds = Math.trunc(status / 100);
        classes[hundreds] ??= latency.labels(method, pattern, `${hundreds}xx`);
        classes[hundreds].observe(seconds);
      };
    },
    expose: () => registry.metrics(),
    contentType: registry.contentType,
  };
};
