import { Transform } from 'node:stream';
import type { AllStreamResolvedEvent, EventStoreDBClient, ReadPosition } from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import services from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ReadFilter, ReadRange, ReadSource } from './read-source.ts';

type Options = InstanceType<typeof streams.ReadReq.Options>;

/**
 * Reads `$all` with the server's filter, in either direction. The protocol supports it but the client's `readAll` does
 * not, so this sends the request over the client's channel.
 */
export const readFiltered = (
  client: EventStoreDBClient,
  range: ReadRange<ReadPosition>,
  filter: ReadFilter,
): ReadSource<AllStreamResolvedEvent> => {
  const request = new streams.ReadReq().setOptions(optionsOf(range, filter));
  // biome-ignore lint/complexity/useLiteralKeys: protected members of the client are only reached like this
  const [create, callArguments] = [client['GRPCStreamCreator'], client['callArguments']];
  const open = create(services.StreamsClient, 'readAll', (grpc) =>
    // The adapter's own time limit ends the call.
    grpc.read(request, ...callArguments({}, { deadline: Number.POSITIVE_INFINITY })),
  );
  const calling = open();
  const source = new Transform({
    objectMode: true,
    transform: (answer: InstanceType<typeof streams.ReadResp>, _, done) => {
      const event = answer.getEvent()?.getEvent();
      if (event === undefined) done();
      else done(null, resolved(event));
    },
  });
  calling.then(
    (call) => call.on('error', (error) => source.destroy(error)).pipe(source),
    (error: Error) => source.destroy(error),
  );
  return Object.assign(source, {
    cancel: async () => {
      source.destroy();
      (await calling).cancel();
    },
  });
};

const optionsOf = ({ from, backward, maxCount }: ReadRange<ReadPosition>, filter: ReadFilter): Options => {
  const { ReadReq } = streams;
  const all = new ReadReq.Options.AllOptions();
  if (from === 'start') all.setStart(new shared.Empty());
  else if (from === 'end') all.setEnd(new shared.Empty());
  else {
    all.setPosition(
      new ReadReq.Options.Position()
        .setCommitPosition(String(from.commit))
        .setPreparePosition(String(from.prepare)),
    );
  }
  const expression = new ReadReq.Options.FilterOptions.Expression().setPrefixList([...filter.prefixes]);
  const filtering = new ReadReq.Options.FilterOptions()
    .setCount(new shared.Empty())
    .setCheckpointintervalmultiplier(1);
  if (filter.on === 'stream') filtering.setStreamIdentifier(expression);
  else filtering.setEventType(expression);
  return new ReadReq.Options()
    .setAll(all)
    .setReadDirection(backward ? 1 : 0)
    .setResolveLinks(false)
    .setCount(String(maxCount))
    .setUuidOption(new ReadReq.Options.UUIDOption().setString(new shared.Empty()))
    .setFilter(filtering);
};

type Recorded = InstanceType<typeof streams.ReadResp.ReadEvent.RecordedEvent>;

const resolved = (event: Recorded): AllStreamResolvedEvent => ({
  event: {
    id: event.getId()?.getString() ?? '',
    streamId: Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8'),
    type: event.getMetadataMap().get('type') ?? '',
    revision: BigInt(event.getStreamRevision()),
    created: new Date(Number(event.getMetadataMap().get('created') ?? 0) / 10_000),
    isJson: false,
    data: event.getData_asU8(),
    metadata: event.getCustomMetadata_asU8(),
    position: {
      commit: BigInt(event.getCommitPosition()),
      prepare: BigInt(event.getPreparePosition()),
    },
  },
});
