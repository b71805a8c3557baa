/** How one attempt of a webhook delivery ended. */
export type AttemptResult = 'delivered' | 'failed' | 'refused';

export type QuestionOutcome = 'answered' | 'nothing_found' | 'refused' | 'unavailable' | 'failed';

type RowOutcome = 'succeeded' | 'skipped' | 'errored';

/** Metrics of the projections, reported by the thread that folds the projections. */
export interface ProjectionMetrics {
  eventsProjected(projection: string, count: number, seconds: number): void;
  /** Age (s) of a batch's last event while more events follow; 0 at the end of the log and for an empty batch. */
  projectionLag(projection: string, seconds: number): void;
  parkedTenants(projection: string, count: number): void;
}

/** Current values. A call with undefined removes the value, since this process no longer knows it. */
export interface Gauges {
  /** Age (s) of the oldest event that a subscriber has not handled. */
  subscriberLag(subscriber: string, seconds: number | undefined): void;
  /** Tenants whose events a subscriber must read again, since the tenant's queue was full. */
  tenantsBehind(subscriber: string, count: number | undefined): void;
  /** Waiting and started deliveries in memory, and for how long (s) the first one has been due; 0 when none is due. */
  pendingDeliveries(count: number | undefined, oldestDue: number | undefined): void;
  deadLetters(count: number | undefined): void;
  pausedSubscriptions(count: number | undefined): void;
  openPostingFailures(count: number | undefined): void;
  queuedRows(count: number | undefined): void;
  storeBytes(store: string, bytes: number | undefined): void;
  /** Seconds since this process took the lease for signing heads or, later, began its last complete round. */
  headAge(seconds: number | undefined): void;
}

/** Metrics of the application, exposed at `GET /metrics` (Prometheus). */
export interface Metrics extends ProjectionMetrics, Gauges {
  eventsAppended(count: number, seconds: number): void;
  socketsOpen(count: number): void;
  /** @param code of the WebSocket's close frame */
  socketClosed(code: number): void;
  envelopesSent(count: number): void;
  /** A tick of the event loop took longer than its budget. @param code that ran longest (tick-marks.ts) */
  eventLoopBlocked(code: string, seconds: number): void;
  deliveryAttempted(result: AttemptResult, seconds: number): void;
  questionAsked(outcome: QuestionOutcome, seconds: number): void;
  rowsProcessed(outcome: RowOutcome, count: number): void;
  /** Calls `report`, which must be cheap, before each scrape. @returns a function that stops the calls */
  atScrape(report: () => void): () => void;
}
