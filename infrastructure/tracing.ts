import type { Logger } from '../application/ports/logger.ts';
import type { Attributes, SpanKind as Kind, Span, Tracer } from '../application/ports/tracing.ts';
import type { Config } from './config.ts';

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The URL to which spans are sent; undefined when traces are off. */
const endpointOf = (config: Config): string | undefined => {
  if (config.OTEL_SDK_DISABLED) return undefined;
  const base = config.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/$/, '');
  return config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base === undefined ? undefined : `${base}/v1/traces`);
};

/**
 * Sends spans by OTLP over HTTP (JSON) when an endpoint is configured. Nothing of OpenTelemetry is loaded otherwise
 * (decision 60).
 */
export const openTracing = async (
  config: Config,
  logger: Logger,
): Promise<{ readonly tracer: Tracer; readonly close: () => Promise<void> } | undefined> => {
  const url = endpointOf(config);
  if (url === undefined) return undefined;
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  let isAway = false;
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...config.OTEL_EXPORTER_OTLP_HEADERS },
    timeoutMillis: config.OTEL_EXPORTER_OTLP_TIMEOUT,
  });
  /** Logs once per outage that spans are lost, and once that they are sent again; never the receiver's answer. */
  const reporting = {
    export: (...[spans, done]: Parameters<typeof exporter.export>): void =>
      exporter.export(spans, (result) => {
        const fails = result.code !== 0;
        if (fails !== isAway) {
          isAway = fails;
          if (fails) logger.warn({ spans: spans.length }, 'traces cannot be sent');
          else logger.info({}, 'traces can be sent again');
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({
      ...config.OTEL_RESOURCE_ATTRIBUTES,
      'service.name': config.OTEL_SERVICE_NAME,
    }),
    sampler: samplerOf(sdk, config),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: reporting,
        scheduledDelayMillis: config.OTEL_BSP_SCHEDULE_DELAY,
      }),
    ],
  });
  const tracer = provider.getTracer('workflow-platform');
  const kinds: Readonly<Record<Kind, (typeof api.SpanKind)[keyof typeof api.SpanKind]>> = {
    server: api.SpanKind.SERVER,
    internal: api.SpanKind.INTERNAL,
    producer: api.SpanKind.PRODUCER,
    consumer: api.SpanKind.CONSUMER,
    client: api.SpanKind.CLIENT,
  };
  const start = (name: string, kind: Kind, parent: string | undefined, attributes: Attributes): Span => {
    const [, traceId, spanId, flags = '00'] = TRACEPARENT.exec(parent ?? '') ?? [];
    const context =
      traceId === undefined || spanId === undefined
        ? api.ROOT_CONTEXT
        : api.trace.setSpanContext(api.ROOT_CONTEXT, {
            traceId,
            spanId,
            isRemote: true,
            traceFlags: Number.parseInt(flags, 16) & 1,
          });
    const span = tracer.startSpan(name, { kind: kinds[kind], attributes: { ...attributes } }, context);
    const own = span.spanContext();
    return {
      traceparent: `00-${own.traceId}-${own.spanId}-${own.traceFlags.toString(16).padStart(2, '0')}`,
      rename: (text) => void span.updateName(text),
      end: (more, error) => {
        if (more !== undefined) span.setAttributes({ ...more });
        if (error !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR });
        span.end();
      },
    };
  };
  return { tracer: { start }, close: () => provider.shutdown().catch(() => undefined) };
};

/** The sampler of `OTEL_TRACES_SAMPLER`. */
const samplerOf = (
  sdk: typeof import('@opentelemetry/sdk-trace'),
  { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share }: Config,
) => {
  const ratio = (): InstanceType<typeof sdk.TraceIdRatioBasedSampler> =>
    new sdk.TraceIdRatioBasedSampler(share);
  switch (name) {
    case 'always_on':
      return new sdk.AlwaysOnSampler();
    case 'always_off':
      return new sdk.AlwaysOffSampler();
    case 'traceidratio':
      return ratio();
    case 'parentbased_always_on':
      return new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new sdk.ParentBasedSampler({ root: new sdk.AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new sdk.ParentBasedSampler({ root: ratio() });
    default:
      return name satisfies never;
  }
};
