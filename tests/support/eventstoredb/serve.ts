import { Server, ServerCredentials } from '@grpc/grpc-js';
import { type Counts, noCounts } from './counts.ts';
import { EventLog } from './event-log.ts';
import { addServices } from './service.ts';
import { type State, usualPace } from './state.ts';

const MOST_BYTES = 16 * 1024 * 1024;

/** Serves a log in this process. @param port 0 for a free one */
export const serve = async (port: number, state: State): Promise<{ server: Server; port: number }> => {
  const server = new Server({
    'grpc.max_receive_message_length': MOST_BYTES,
    'grpc.max_send_message_length': MOST_BYTES,
  });
  addServices(server, state);
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, found) =>
      error === null ? resolve(found) : reject(error),
    );
  });
  return { server, port: bound };
};

export interface LocalEventStoreDb {
  readonly url: string;
  readonly counts: Counts;
  stop(): Promise<void>;
}

/** An empty test server in this process, for tests that neither freeze nor kill it: a process takes far longer to start. */
export const serveHere = async (): Promise<LocalEventStoreDb> => {
  const state = { log: new EventLog(undefined), counts: noCounts(), pace: usualPace(), readyAt: 0 };
  const { server, port } = await serve(0, state);
  return {
    url: `esdb://127.0.0.1:${port}?tls=false&keepAliveInterval=-1`,
    counts: state.counts,
    stop: async () => server.forceShutdown(),
  };
};
