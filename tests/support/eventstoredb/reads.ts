import { setTimeout } from 'node:timers/promises';
import type * as Streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { LoggedRecord } from './event-log.ts';
import {
  caughtUpMessage,
  checkpointMessage,
  confirmationMessage,
  eventMessage,
  failure,
  notFoundMessage,
  streamNameOf,
} from './messages.ts';
import type { State } from './state.ts';
import { type Outgoing, type Selects, Subscription } from './subscription.ts';

export type ReadCall = ServerWritableStream<Streams.ReadReq, Streams.ReadResp>;

const ABORTED = 10;

/** Serves a read of a stream or of `$all`, or a subscription. */
export const read = async (call: ReadCall, state: State): Promise<void> => {
  const { log, counts, pace } = state;
  const options = call.request.getOptions();
  if (options === undefined) {
    call.end();
    return;
  }
  call.on('error', () => undefined);
  if (options.hasSubscription()) return subscribe(call, options, state);
  counts.reads += 1;
  if (pace.readMs > 0) await setTimeout(pace.readMs);
  const all = options.getAll();
  const stream = streamNameOf(options.getStream()?.getStreamIdentifier());
  const records = all === undefined ? log.stream(stream) : log.records;
  if (records === undefined) {
    call.write(notFoundMessage(stream));
    call.end();
    return;
  }
  const isBackward = options.getReadDirection() === 1;
  const from = all === undefined ? revisionFrom(options, records) : positionFrom(all, records, isBackward);
  const selects = selectsOf(options.getFilter());
  const step = isBackward ? -1 : 1;
  let left = Number(options.getCount());
  for (let at = from; at >= 0 && at < records.length && left > 0; at += step) {
    const record = records[at];
    if (record === undefined || call.cancelled) break;
    if (!selects(record)) continue;
    left -= 1;
    if (all === undefined) counts.readOfStreams += 1;
    else counts.readOfAll += 1;
    await written(call, eventMessage(record));
  }
  call.end();
};

const subscribe = async (
  call: ReadCall,
  options: Streams.ReadReq.Options,
  { log, counts }: State,
): Promise<void> => {
  counts.subscriptions += 1;
  counts.openSubscriptions += 1;
  const all = options.getAll();
  const position = all?.getPosition()?.getCommitPosition();
  const filter = options.getFilter();
  const subscription = new Subscription(
    {
      log,
      send: async (message) => {
        if (message.kind === 'event') counts.subscribed += 1;
        await written(call, messageOf(message));
      },
      drop: (phase) => {
        counts.drops += 1;
        call.emit(
          'error',
          failure(
            ABORTED,
            `Operation timed out: Consumer too slow to handle event ${phase}. Client resubscription required.`,
          ),
        );
      },
    },
    {
      after: all?.hasEnd()
        ? log.records.at(-1)?.position
        : position === undefined
          ? undefined
          : BigInt(position),
      selects: selectsOf(filter),
      checkpointEvery:
        filter === undefined
          ? undefined
          : Math.max(filter.getMax(), 1) * Math.max(filter.getCheckpointintervalmultiplier(), 1),
    },
  );
  const end = (): void => subscription.end();
  call.on('cancelled', end);
  call.on('close', end);
  call.on('error', end);
  try {
    call.write(confirmationMessage());
    await subscription.run();
  } finally {
    counts.openSubscriptions -= 1;
  }
};

const messageOf = (message: Outgoing): Streams.ReadResp => {
  switch (message.kind) {
    case 'event':
      return eventMessage(message.record);
    case 'checkpoint':
      return checkpointMessage(message.position);
    case 'caught_up':
      return caughtUpMessage();
    default:
      return message satisfies never;
  }
};

/** Resolves when the connection accepts more data or has ended. */
const written = (call: ReadCall, message: Streams.ReadResp): Promise<void> | undefined => {
  if (call.destroyed || call.cancelled || call.write(message)) return undefined;
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'close', 'cancelled']) call.off(event, done);
      resolve();
    };
    for (const event of ['drain', 'close', 'cancelled']) call.on(event, done);
  });
};

const revisionFrom = (options: Streams.ReadReq.Options, records: readonly LoggedRecord[]): number => {
  const stream = options.getStream();
  if (stream?.hasEnd()) return records.length - 1;
  return stream?.hasRevision() ? Number(stream.getRevision()) : 0;
};

/** A forward read includes the event at its position, a backward read excludes it. */
const positionFrom = (
  all: Streams.ReadReq.Options.AllOptions,
  records: readonly LoggedRecord[],
  isBackward: boolean,
): number => {
  if (all.hasEnd()) return records.length - 1;
  const position = all.getPosition()?.getCommitPosition();
  if (position === undefined) return 0;
  const at = firstAtOrAfter(records, BigInt(position));
  return isBackward ? at - 1 : at;
};

const firstAtOrAfter = (records: readonly LoggedRecord[], position: bigint): number => {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((records[middle]?.position ?? position) < position) low = middle + 1;
    else high = middle;
  }
  return low;
};

const selectsOf = (filter: Streams.ReadReq.Options.FilterOptions | undefined): Selects => {
  if (filter === undefined) return () => true;
  const expression = filter.getStreamIdentifier() ?? filter.getEventType();
  if (expression === undefined) return () => true;
  const named = filter.hasStreamIdentifier()
    ? ({ stream }: LoggedRecord) => stream
    : ({ type }: LoggedRecord) => type;
  const regex = expression.getRegex() === '' ? undefined : new RegExp(expression.getRegex());
  const prefixes = expression.getPrefixList();
  return (record) => {
    const name = named(record);
    return regex === undefined ? prefixes.some((prefix) => name.startsWith(prefix)) : regex.test(name);
  };
};
