/** Traces (decision 60). */

export type SpanKind = 'server' | 'internal' | 'producer' | 'consumer' | 'client';

/** Facts about a piece of work: never personal texts, names, bodies or paths with ids of people. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** As the header of W3C Trace Context: `00-<trace id>-<span id>-<flags>`. */
  readonly traceparent: string;
  /** Replaces the name, once more is known. */
  rename(name: string): void;
  /** Marks the span as failed when `error` is given; its message is not recorded. */
  end(attributes?: Attributes, error?: unknown): void;
}

export interface Tracer {
  /** @param parent a `traceparent`; a malformed one begins a new trace */
  start(name: string, kind: SpanKind, parent: string | undefined, attributes: Attributes): Span;
}
