import type { IServerFeaturesServer } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import type { IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type * as Streams from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata, type Server, type ServerDuplexStream, type ServerWritableStream } from '@grpc/grpc-js';
import type { EventLog, Expected, LoggedRecord, Proposed } from './event-log.ts';
import {
  batchAnswer,
  caughtUpMessage,
  checkpointMessage,
  confirmationMessage,
  eventMessage,
  featuresPb,
  notFoundMessage,
  ServerFeaturesService,
  StreamsService,
  streamNameOf,
  uuidText,
} from './messages.ts';
import { type Outgoing, type Selects, Subscription } from './subscription.ts';

type ReadCall = ServerWritableStream<Streams.ReadReq, Streams.ReadResp>;
type BatchCall = ServerDuplexStream<Streams.BatchAppendReq, Streams.BatchAppendResp>;

/** What crossed the wire since the server started. */
export interface Counts {
  /** Appends, and the events in them. */
  appends: number;
  appended: number;
  /** Events sent to readers and to subscribers. */
  read: number;
  subscribed: number;
  reads: number;
  subscriptions: number;
  openSubscriptions: number;
  /** Subscriptions that were dropped because they were too slow. */
  drops: number;
}

export const noCounts = (): Counts => ({
  appends: 0,
  appended: 0,
  read: 0,
  subscribed: 0,
  reads: 0,
  subscriptions: 0,
  openSubscriptions: 0,
  drops: 0,
});

const MAX_APPEND_BYTES = 1024 * 1024;
/** Time from an append's arrival to its commit. */
const COMMIT_MS = 1;
const ABORTED = 10;
const UNAVAILABLE = 14;

export interface ServiceOptions {
  readonly log: EventLog;
  readonly counts: Counts;
  /** The server refuses every call until then (ms since the epoch), as one that has just started. */
  readonly readyAt: number;
}

/** Adds EventStoreDB's services to a gRPC server. */
export const addServices = (server: Server, { log, counts, readyAt }: ServiceOptions): void => {
  const isReady = (): boolean => Date.now() >= readyAt;
  const features: IServerFeaturesServer = {
    getSupportedMethods: (_call, answer) => {
      if (!isReady()) answer(notReady());
      else answer(null, supportedMethods());
    },
  };
  server.addService(ServerFeaturesService, features);
  const streams: IStreamsServer = {
    read: (call: ReadCall) => {
      if (isReady()) void read(call, log, counts);
      else call.emit('error', failure(UNAVAILABLE, 'Server Is Not Ready'));
    },
    batchAppend: (call: BatchCall) => {
      if (isReady()) batchAppend(call, log, counts);
      else call.emit('error', failure(UNAVAILABLE, 'Server Is Not Ready'));
    },
    append: (_call, answer) => answer(failure(12, 'the adapter appends in batches')),
    delete: (_call, answer) => answer(failure(12, 'nothing is deleted')),
    tombstone: (_call, answer) => answer(failure(12, 'nothing is deleted')),
  };
  server.addService(StreamsService, streams);
};

const failure = (code: number, details: string) =>
  Object.assign(new Error(details), { code, details, metadata: new Metadata() });

const notReady = () => failure(UNAVAILABLE, 'Server Is Not Ready');

const supportedMethods = () => {
  const methods = new featuresPb.SupportedMethods().setEventStoreServerVersion('23.10.6');
  const service = 'event_store.client.streams.streams';
  for (const name of ['read', 'batchappend', 'append', 'delete', 'tombstone']) {
    methods.addMethods(new featuresPb.SupportedMethod().setServiceName(service).setMethodName(name));
  }
  return methods;
};

interface Gathered {
  readonly options: Streams.BatchAppendReq.Options;
  readonly events: Proposed[];
}

const batchAppend = (call: BatchCall, log: EventLog, counts: Counts): void => {
  const gathered = new Map<string, Gathered>();
  call.on('data', (request: Streams.BatchAppendReq) => {
    const correlationId = request.getCorrelationId();
    const id = uuidText(correlationId);
    const options = request.getOptions() ?? gathered.get(id)?.options;
    if (options === undefined) return;
    const known = gathered.get(id) ?? { options, events: [] };
    gathered.set(id, known);
    known.events.push(...request.getProposedMessagesList().map(proposedOf));
    if (!request.getIsFinal()) return;
    gathered.delete(id);
    counts.appends += 1;
    counts.appended += known.events.length;
    const stream = streamNameOf(options.getStreamIdentifier());
    const expected = expectedOf(options);
    commit(log, stream, expected, known.events, (result) => {
      if (!call.destroyed) call.write(batchAnswer(correlationId, stream, expected, result));
    });
  });
  call.on('end', () => call.end());
  call.on('error', () => undefined);
};

/** Appends under way, by stream and first event: a twin that meets one is answered `Timeout`, as by the server. */
const underWay = new Set<string>();

const commit = (
  log: EventLog,
  stream: string,
  expected: Expected,
  events: readonly Proposed[],
  answer: (result: Parameters<typeof batchAnswer>[3]) => void,
): void => {
  const bytes = events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
  const twin = `${stream}\n${events[0]?.id}`;
  if (bytes > MAX_APPEND_BYTES) answer({ kind: 'too_large', max: MAX_APPEND_BYTES });
  else if (underWay.has(twin)) answer({ kind: 'timeout' });
  else {
    underWay.add(twin);
    setTimeout(() => {
      underWay.delete(twin);
      answer(log.append(stream, expected, events));
    }, COMMIT_MS);
  }
};

const proposedOf = (message: Streams.BatchAppendReq.ProposedMessage): Proposed => ({
  id: uuidText(message.getId()),
  type: message.getMetadataMap().get('type') ?? '',
  contentType: message.getMetadataMap().get('content-type') ?? 'application/octet-stream',
  data: message.getData_asU8(),
  metadata: message.getCustomMetadata_asU8(),
});

const expectedOf = (options: Streams.BatchAppendReq.Options): Expected => {
  if (options.hasStreamPosition()) return Number(options.getStreamPosition());
  if (options.hasNoStream()) return 'no_stream';
  return options.hasStreamExists() ? 'stream_exists' : 'any';
};

const read = async (call: ReadCall, log: EventLog, counts: Counts): Promise<void> => {
  const options = call.request.getOptions();
  if (options === undefined) {
    call.end();
    return;
  }
  call.on('error', () => undefined);
  if (options.hasSubscription()) return subscribe(call, options, log, counts);
  counts.reads += 1;
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
    counts.read += 1;
    await written(call, eventMessage(record));
  }
  call.end();
};

const subscribe = async (
  call: ReadCall,
  options: Streams.ReadReq.Options,
  log: EventLog,
  counts: Counts,
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

/** Resolves when the connection takes more. */
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

/** Forwards a read includes the event at its position, backwards it begins before it. */
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
