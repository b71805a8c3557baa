/** Traces (decision 60). */

export type SpanKind = 'server' | 'internal' | 'producer' | 'consumer' | 'client';

/** Facts of a span; never personal texts, names of people, request bodies, or paths with ids of people. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** The header of W3C Trace Context: `00-<trace id>-<span id>-<flags>`. */
  readonly traceparent: string;
  /** Replaces the name, for example when the route of a request is known. */
  rename(name: string): void;
  /** Marks the span as failed when `error` is given. The error's message is not recorded. */
  end(attributes?: Attributes, error?: unknown): void;
}

export interface Tracer {
  /** @param parent a `traceparent`; a malformed one begins a new trace */
  start(name: string, kind: SpanKind, parent: string | undefined, attributes: Attributes): Span;
}
