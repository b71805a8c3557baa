import type { Attributes, Span, SpanKind, Tracer } from '../../ports/tracing.ts';

/**
 * Traces (decision 60). Without an exporter tracing is off: no span is made, and requests give events no `traceparent`.
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

/** Starts a span; without a parent it begins a new trace. Undefined when tracing is off. */
export const startSpan = (
  name: string,
  kind: SpanKind,
  parent: string | undefined,
  attributes: Attributes = {},
): Span | undefined => tracer?.start(name, kind, parent, attributes);

/** Starts a span under `parent`; undefined without a parent or when tracing is off. */
export const continueSpan = (
  name: string,
  kind: SpanKind,
  parent: string | undefined,
  attributes: Attributes = {},
): Span | undefined => (parent === undefined ? undefined : startSpan(name, kind, parent, attributes));

/** Ends a span when `work` settles; marks the span as failed when `work` rejects. */
export const during = async <T>(span: Span | undefined, work: Promise<T>): Promise<T> => {
  try {
    const result = await work;
    span?.end();
    return result;
  } catch (error) {
    span?.end({}, error);
    throw error;
  }
};

/** The trace id of a `traceparent`, 32 hex digits. */
export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.slice(3, 35);
