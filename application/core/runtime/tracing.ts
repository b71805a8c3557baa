import type { Attributes, Span, SpanKind, Tracer } from '../../ports/tracing.ts';

/**
 * Traces (decision 60). Off unless an exporter is set: then every function here returns undefined at once, and events carry
 * no `traceparent`.
 */

let tracer: Tracer | undefined;

/** Sets the tracer of this process or thread. Returns a function that removes it. */
export const useTracer = (next: Tracer): (() => void) => {
  tracer = next;
  return () => {
    tracer = undefined;
  };
};

export const isTracing = (): boolean => tracer !== undefined;

/** A span that begins a trace where there is no parent. */
export const startSpan = (
  name: string,
  kind: SpanKind,
  parent: string | undefined,
  attributes: Attributes = {},
): Span | undefined => tracer?.start(name, kind, parent, attributes);

/** A span of work that belongs to a trace; undefined without one. */
export const continueSpan = (
  name: string,
  kind: SpanKind,
  parent: string | undefined,
  attributes: Attributes = {},
): Span | undefined => (parent === undefined ? undefined : startSpan(name, kind, parent, attributes));

/** Ends a span when work ends, as failed when it fails. */
export const during = <T>(span: Span | undefined, work: Promise<T>): Promise<T> =>
  span === undefined ? work : ended(span, work);

const ended = async <T>(span: Span, work: Promise<T>): Promise<T> => {
  try {
    const result = await work;
    span.end();
    return result;
  } catch (error) {
    span.end({}, error);
    throw error;
  }
};

/** The trace id of a `traceparent`, 32 hex digits. */
export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.slice(3, 35);
