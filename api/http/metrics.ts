// Imports single files: the package's index also loads metrics of process, clusters and tracing (decision 44).
import Registry from 'prom-client/lib/registry.js';
import type { Metrics } from '../../application/ports/metrics.ts';
import { applicationMetrics } from '../metrics/application.ts';
import { instruments, LATENCY } from '../metrics/instruments.ts';
import type { ErrorAnswer } from './errors.ts';
import type { CutReason } from './pending-answers.ts';
import { type TellThreads, threadMetrics } from './thread-metrics.ts';

/**
 * Counts one answer.
 * @param status HTTP status
 * @param seconds from the start of the work on a request to the start of its answer; no waits for earlier requests
 */
export type ObserveAnswer = (status: number, seconds: number) => void;

export interface HttpMetrics {
  /** The observer of one route. Resolves the labels once for each class of status. */
  route(method: string, pattern: string): ObserveAnswer;
  /** Counts a request that exceeded a limit; other answers are ignored. */
  refused(answer: ErrorAnswer): void;
  /** Sets the bytes of answers that their clients have not read. */
  pendingAnswers(bytes: number): void;
  /** Counts a connection that was closed because its client left answers unread or pipelined too many requests. */
  connectionCut(reason: CutReason): void;
  /** Metrics in Prometheus text format. */
  expose(): Promise<string>;
  /** The metrics of this process, which may be merged with those of other processes. */
  snapshot(): Promise<readonly object[]>;
  readonly contentType: string;
}

/** Version and role of this process, for `build_info`. */
export interface BuildInfo {
  readonly version: string;
  readonly role: string;
}

/**
 * The application's metrics and the HTTP latency in one registry (`GET /metrics`).
 * @param options.process collects memory, event loop lag and garbage collection from the first scrape on; default true
 * @param options.threads reads the figures of each thread at each scrape
 */
export const createMetrics = (
  options: { readonly process?: boolean; readonly build?: BuildInfo; readonly threads?: TellThreads } = {},
): Metrics & HttpMetrics => {
  const registry = new Registry();
  const collectOfProcess = async (): Promise<void> => {
    const { collectDefaultMetrics } = await import('prom-client');
    collectDefaultMetrics({ register: registry });
  };
  let collecting = options.process === false ? Promise.resolve() : undefined;
  const make = instruments(registry);
  const threads = options.threads === undefined ? undefined : threadMetrics(make, options.threads);
  const latency = make.histogram(
    'http_request_duration_seconds',
    'Time from the start of the work on a request to the start of its answer; excludes waits of a new connection and for earlier requests of the connection, and the transfer of the answer.',
    LATENCY,
    'method',
    'route',
    'status',
  );
  const refusals = make.counter(
    'requests_refused_total',
    'Requests that exceeded a limit (docs/limits.md), WebSocket handshakes included.',
    'limit',
  );
  const pending = make.gauge(
    'http_pending_answer_bytes',
    'Bytes of answers that wait for their readers.',
    'sum',
  );
  const cut = make.counter(
    'http_connections_cut_total',
    'Connections closed because their clients left answers unread or pipelined too many requests, by limit.',
    'limit',
  );
  if (options.build !== undefined) {
    const info = make.gauge('build_info', 'The running build; always 1.', 'first', 'version', 'node', 'role');
    info.set({ ...options.build, node: process.version }, 1);
  }
  const reports = new Set<() => void>();
  const reported = async <T>(read: () => Promise<T>): Promise<T> => {
    collecting ??= collectOfProcess();
    await Promise.all([collecting, threads?.()]);
    for (const report of reports) report();
    return read();
  };
  return {
    ...applicationMetrics(make),
    atScrape: (report) => {
      reports.add(report);
      return () => reports.delete(report);
    },
    pendingAnswers: (bytes) => pending.set(bytes),
    connectionCut: (limit) => cut.inc({ limit }),
    refused: ({ body }) => {
      const isLimit = body.error === 'rate_limited' || body.error === 'quota_exceeded';
      const limit = isLimit ? body.details?.limit : undefined;
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
    expose: () => reported(() => registry.metrics()),
    snapshot: () => reported(() => registry.getMetricsAsJSON()),
    contentType: registry.contentType,
  };
};
