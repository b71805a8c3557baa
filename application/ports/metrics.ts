/** What the application counts. The adapter exposes them at `GET /metrics` (Prometheus). */
export interface Metrics {
  eventsAppended(count: number, seconds: number): void;
  eventsProjected(projection: string, count: number, seconds: number): void;
  /** Events (approximate) and seconds behind the log's end. */
  projectionLag(projection: string, seconds: number): void;
  parkedTenants(projection: string, count: number): void;
  socketsOpen(count: number): void;
  envelopesSent(count: number): void;
}
