import { Server, ServerCredentials } from '@grpc/grpc-js';
import { noCounts } from './counts.ts';
import { EventLog } from './event-log.ts';
import { addServices } from './service.ts';
import { type Pace, usualPace } from './state.ts';

/**
 * The process of the test server: `main.ts <port> <log file> <ms until ready>`. Sends its counts and changes its
 * latencies on request.
 */
const [port = '0', path = '', readyAfterMs = '0'] = process.argv.slice(2);
const counts = noCounts();
const pace = usualPace();
const server = new Server({
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
  'grpc.max_send_message_length': 16 * 1024 * 1024,
});
addServices(server, {
  log: new EventLog(path === '' ? undefined : path),
  counts,
  pace,
  readyAt: Date.now() + Number(readyAfterMs),
});
server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
  if (error !== null) throw error;
  process.send?.({ port: bound });
});
process.on('message', (message: 'counts' | Partial<Pace>) => {
  if (message !== 'counts') Object.assign(pace, message);
  process.send?.({ counts });
});
process.on('disconnect', () => process.exit(0));
