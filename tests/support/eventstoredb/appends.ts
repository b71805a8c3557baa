import type * as Streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { Counts } from './counts.ts';
import type { Expected, Proposed } from './event-log.ts';
import { batchAnswer, streamNameOf, uuidText } from './messages.ts';
import type { State } from './state.ts';

export type BatchCall = ServerDuplexStream<Streams.BatchAppendReq, Streams.BatchAppendResp>;

const MAX_APPEND_BYTES = 1024 * 1024;

interface PartialAppend {
  readonly options: Streams.BatchAppendReq.Options;
  readonly events: Proposed[];
}

/** A stream of appends, each with its own answer. */
export const batchAppend = (call: BatchCall, state: State): void => {
  const { counts } = state;
  const partial = new Map<string, PartialAppend>();
  counts.batchStreams += 1;
  call.on('data', (request: Streams.BatchAppendReq) => {
    const correlationId = request.getCorrelationId();
    const id = uuidText(correlationId);
    const options = request.getOptions() ?? partial.get(id)?.options;
    if (options === undefined) return;
    const known = partial.get(id) ?? { options, events: [] };
    partial.set(id, known);
    known.events.push(...request.getProposedMessagesList().map(proposedOf));
    if (!request.getIsFinal()) return;
    partial.delete(id);
    countAppend(counts, known.events.length);
    counts.peakAppends = Math.max(counts.peakAppends, underWay.size + 1);
    const stream = streamNameOf(options.getStreamIdentifier());
    const expected = expectedOf(options);
    commit(state, stream, expected, known.events, (result) => {
      if (result.kind === 'timeout') counts.twins += 1;
      if (!call.destroyed) call.write(batchAnswer(correlationId, stream, expected, result));
    });
  });
  call.on('end', () => call.end());
  call.on('error', () => undefined);
};

let isInGroup = false;

const countAppend = (counts: Counts, events: number): void => {
  counts.appends += 1;
  counts.appended += events;
  if (isInGroup) return;
  isInGroup = true;
  counts.groups += 1;
  setImmediate(() => {
    isInGroup = false;
  });
};

/**
 * Pending appends by stream and first event. As on the real server, a second identical append is answered `Timeout`.
 */
const underWay = new Set<string>();

const commit = (
  { log, pace }: State,
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
    }, pace.commitMs);
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
