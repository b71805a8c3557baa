import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import type * as FeaturesGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import type * as Features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import type * as Shared from '@eventstore/db-client/generated/shared_pb.js';
import type * as Statuses from '@eventstore/db-client/generated/status_pb.js';
import type * as StreamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type * as Streams from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata } from '@grpc/grpc-js';
import type { Message } from 'google-protobuf';
import type * as Any from 'google-protobuf/google/protobuf/any_pb.js';
import type { Appended, Expected, LoggedRecord } from './event-log.ts';

/** The messages of EventStoreDB's protocol, from the definitions in its client. */

const generated = createRequire(createRequire(import.meta.url).resolve('@eventstore/db-client'));
export const pb: typeof Streams = generated('../generated/streams_pb.js');
export const sharedPb: typeof Shared = generated('../generated/shared_pb.js');
export const featuresPb: typeof Features = generated('../generated/serverfeatures_pb.js');
export const { StreamsService }: typeof StreamsGrpc = generated('../generated/streams_grpc_pb.js');
export const { ServerFeaturesService }: typeof FeaturesGrpc = generated(
  '../generated/serverfeatures_grpc_pb.js',
);
const statusPb: typeof Statuses = generated('../generated/status_pb.js');
const anyPb: typeof Any = generated('google-protobuf/google/protobuf/any_pb.js');

const TICKS_PER_MS = 10_000n;

export const uuidText = (uuid: Shared.UUID | undefined): string => {
  const structured = uuid?.getStructured();
  if (structured === undefined) return uuid?.getString().toLowerCase() ?? randomUUID();
  const bits = (text: string) => BigInt.asUintN(64, BigInt(text)).toString(16).padStart(16, '0');
  const hex = bits(structured.getMostSignificantBits()) + bits(structured.getLeastSignificantBits());
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

export const streamNameOf = (identifier: Shared.StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');

const identifierOf = (stream: string): Shared.StreamIdentifier =>
  new sharedPb.StreamIdentifier().setStreamName(Buffer.from(stream).toString('base64'));

export const eventMessage = (record: LoggedRecord): Streams.ReadResp => {
  const position = String(record.position);
  const recorded = new pb.ReadResp.ReadEvent.RecordedEvent()
    .setId(new sharedPb.UUID().setString(record.id))
    .setStreamIdentifier(identifierOf(record.stream))
    .setStreamRevision(String(record.revision))
    .setCommitPosition(position)
    .setPreparePosition(position)
    .setData(record.data)
    .setCustomMetadata(record.metadata);
  recorded.getMetadataMap().set('type', record.type);
  recorded.getMetadataMap().set('content-type', record.contentType);
  recorded.getMetadataMap().set('created', String(BigInt(Date.now()) * TICKS_PER_MS));
  const event = new pb.ReadResp.ReadEvent().setEvent(recorded).setCommitPosition(position);
  return new pb.ReadResp().setEvent(event);
};

export const confirmationMessage = (): Streams.ReadResp =>
  new pb.ReadResp().setConfirmation(
    new pb.ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID()),
  );

export const caughtUpMessage = (): Streams.ReadResp =>
  new pb.ReadResp().setCaughtUp(new pb.ReadResp.CaughtUp());

export const checkpointMessage = (position: bigint): Streams.ReadResp =>
  new pb.ReadResp().setCheckpoint(
    new pb.ReadResp.Checkpoint().setCommitPosition(String(position)).setPreparePosition(String(position)),
  );

export const notFoundMessage = (stream: string): Streams.ReadResp =>
  new pb.ReadResp().setStreamNotFound(
    new pb.ReadResp.StreamNotFound().setStreamIdentifier(identifierOf(stream)),
  );

export type Refusal = { readonly kind: 'timeout' } | { readonly kind: 'too_large'; readonly max: number };

/** The answer to one append of a batch stream. */
export const batchAnswer = (
  correlationId: Shared.UUID | undefined,
  stream: string,
  expected: Expected,
  result: Appended | Refusal,
): Streams.BatchAppendResp => {
  const answer = new pb.BatchAppendResp().setStreamIdentifier(identifierOf(stream));
  if (correlationId !== undefined) answer.setCorrelationId(correlationId);
  switch (result.kind) {
    case 'success':
      return answer.setSuccess(
        new pb.BatchAppendResp.Success()
          .setCurrentRevision(String(result.revision))
          .setPosition(
            new sharedPb.AllStreamPosition()
              .setCommitPosition(String(result.position))
              .setPreparePosition(String(result.position)),
          ),
      );
    case 'wrong_expected_version': {
      const detail = expecting(new sharedPb.WrongExpectedVersion(), expected);
      if (result.current === undefined) detail.setCurrentNoStream(new sharedPb.Empty());
      else detail.setCurrentStreamRevision(String(result.current));
      return answer.setError(statusOf(9, 'WrongExpectedVersion', detail));
    }
    case 'timeout':
      return answer.setError(statusOf(4, 'Timeout', new sharedPb.Timeout()));
    case 'too_large':
      return answer.setError(
        statusOf(
          3,
          'MaximumAppendSizeExceeded',
          new sharedPb.MaximumAppendSizeExceeded().setMaxappendsize(result.max),
        ),
      );
    default:
      return result satisfies never;
  }
};

const expecting = (detail: Shared.WrongExpectedVersion, expected: Expected): Shared.WrongExpectedVersion => {
  switch (expected) {
    case 'any':
      return detail.setExpectedAny(new sharedPb.Empty());
    case 'no_stream':
      return detail.setExpectedNoStream(new sharedPb.Empty());
    case 'stream_exists':
      return detail.setExpectedStreamExists(new sharedPb.Empty());
    default:
      return detail.setExpectedStreamPosition(String(expected));
  }
};

const statusOf = (code: Statuses.Status.AsObject['code'], name: string, detail: Message): Statuses.Status => {
  const details = new anyPb.Any();
  details.pack(detail.serializeBinary(), `event_store.client.${name}`);
  return new statusPb.Status().setCode(code).setMessage(name).setDetails(details);
};

export const failure = (code: number, details: string) =>
  Object.assign(new Error(details), { code, details, metadata: new Metadata() });
