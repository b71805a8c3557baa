import { during, startSpan } from '../application/core/runtime/tracing.ts';
import { type Child, startChild } from './http/child.ts';
import { Connection, closedLoop, requestBytes } from './http/load.ts';
import { inFolder, makePairs, messageRequests, startPlatformChild } from './http/platform.ts';
import { type Line, microseconds, perSecond } from './report.ts';
import { alternate, median, scaled } from './rounds.ts';

const CONNECTIONS = 64;
const ROUNDS = 3;
const COUNTED = 20;
const OF_POST = 0.01;

/**
 * Measures the cost of traces for `POST …/messages` (decision 60): compares a server with a receiver and a server
 * without one. Without a receiver, calls of the tracer return at once; the cost of these calls is measured for as many
 * calls as the request has spans.
 */
export const benchTraces = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const seconds = Math.max(0.3, 3 * scale);
    const receiver = await startChild('http/otlp.ts', '/spans');
    const off = await startPlatformChild(`${folder}/off`);
    const on = await startPlatformChild(`${folder}/on`, {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.port}`,
      OTEL_BSP_SCHEDULE_DELAY: '50',
    });
    try {
      const requests = {
        off: messageRequests(await makePairs(off.port, CONNECTIONS / 2)),
        on: messageRequests(await makePairs(on.port, CONNECTIONS / 2)),
      };
      const spans = await spansOfOne(on.port, requests.on[0]?.[0], receiver);
      const posts =
        (side: 'off' | 'on', { port }: Child) =>
        () =>
          closedLoop({ port, requests: requests[side], seconds, expectedStatus: 201 });
      const sides = { off: posts('off', off), on: posts('on', on) };
      await alternate(1, sides);
      const rates = await alternate(ROUNDS, sides);
      const calls = spans * microsecondsOfCall(scaled(2_000_000, scale, 20_000));
      const post = 1e6 / rates.off;
      return [
        {
          figure: `traces off, the ${Math.round(spans)} calls of a POST message`,
          value: microseconds(calls),
          yardstick: { name: 'POST message, all of it', value: microseconds(post) },
          target: { text: `≤ ${OF_POST}`, met: calls / post <= OF_POST },
        },
        {
          figure: 'POST message, traces sent',
          value: perSecond(rates.on),
          yardstick: { name: 'traces off', value: perSecond(rates.off) },
        },
      ];
    } finally {
      await Promise.all([off.stop(), on.stop()]);
      await receiver.stop();
    }
  });

/** Sends a few requests one after another, fewer than the exporter's buffer holds. @returns spans per request */
const spansOfOne = async (port: number, request: Buffer | undefined, receiver: Child): Promise<number> => {
  if (request === undefined) throw new Error('there is no request to trace');
  const connection = await Connection.open(port);
  const before = await settledSpans(receiver);
  for (let nth = 0; nth < COUNTED; nth += 1) await connection.ask(request, 201);
  connection.close();
  return ((await settledSpans(receiver)) - before) / COUNTED;
};

/** Number of spans that the receiver has when no more arrive. */
const settledSpans = async ({ port }: Child): Promise<number> => {
  const connection = await Connection.open(port);
  let found = -1;
  for (;;) {
    const last = found;
    found = Number(await connection.ask(requestBytes('GET', '/spans')));
    if (found === last) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  connection.close();
  return found;
};

/** Microseconds of one span as the product makes it, without a tracer: started with attributes, around work, ended. */
const microsecondsOfCall = (count: number): number => {
  const work = Promise.resolve();
  const times = Array.from({ length: 5 }, () => {
    const began = performance.now();
    for (let nth = 0; nth < count; nth += 1) {
      const span = startSpan('POST', 'server', undefined, { 'tenant.id': 'bench', nth });
      void during(span, work);
      span?.end();
    }
    return ((performance.now() - began) / count) * 1000;
  });
  return median(times);
};
