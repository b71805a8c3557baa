/** Metrics of the application, exposed at `GET /metrics` (Prometheus). */
export interface Metrics {
  eventsAppended(count: number, seconds: number): void;
  eventsProjected(projection: string, count: number, seconds: number): void;
  /** Seconds behind the end of the log. */
  projectionLag(projection: string, seconds: number): void;
  parkedTenants(projection: string, count: number): void;
  socketsOpen(count: number): void;
  envelopesSent(count: number): void;
  /** One tick of the event loop took longer than its budget. @param code the operation or subscriber that ran */
  eventLoopBlocked(code: string, seconds: number): void;
}
