import type { IServerFeaturesServer } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import type { IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { Server } from '@grpc/grpc-js';
import { type BatchCall, batchAppend } from './appends.ts';
import { failure, featuresPb, ServerFeaturesService, StreamsService } from './messages.ts';
import { type ReadCall, read } from './reads.ts';
import type { State } from './state.ts';

const UNAVAILABLE = 14;

/** Adds EventStoreDB's services to a gRPC server. */
export const addServices = (server: Server, state: State): void => {
  const isReady = (): boolean => Date.now() >= state.readyAt;
  const features: IServerFeaturesServer = {
    getSupportedMethods: (_call, answer) => {
      if (!isReady()) answer(notReady());
      else answer(null, supportedMethods());
    },
  };
  server.addService(ServerFeaturesService, features);
  const streams: IStreamsServer = {
    read: (call: ReadCall) => {
      if (isReady()) void read(call, state);
      else call.emit('error', notReady());
    },
    batchAppend: (call: BatchCall) => {
      if (isReady()) batchAppend(call, state);
      else call.emit('error', notReady());
    },
    append: (_call, answer) => answer(failure(12, 'the adapter appends in batches')),
    delete: (_call, answer) => answer(failure(12, 'nothing is deleted')),
    tombstone: (_call, answer) => answer(failure(12, 'nothing is deleted')),
  };
  server.addService(StreamsService, streams);
};

const notReady = () => failure(UNAVAILABLE, 'Server Is Not Ready');

const supportedMethods = () => {
  const methods = new featuresPb.SupportedMethods().setEventStoreServerVersion('23.10.6');
  const service = 'event_store.client.streams.streams';
  for (const name of ['read', 'batchappend', 'append', 'delete', 'tombstone']) {
    methods.addMethods(new featuresPb.SupportedMethod().setServiceName(service).setMethodName(name));
  }
  return methods;
};
