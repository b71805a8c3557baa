import { noCounts } from './counts.ts';
import { EventLog } from './event-log.ts';
import { serve } from './serve.ts';
import { type Pace, usualPace } from './state.ts';

/**
 * The process of the test server: `main.ts <port> <log file> <ms until ready>`. Sends its counts and changes its
 * latencies on request.
 */
const [wanted = '0', path = '', readyAfterMs = '0'] = process.argv.slice(2);
const counts = noCounts();
const pace = usualPace();
process.on('message', (message: 'counts' | Partial<Pace>) => {
  if (message !== 'counts') Object.assign(pace, message);
  process.send?.({ counts });
});
process.on('disconnect', () => process.exit(0));
const { port } = await serve(Number(wanted), {
  log: new EventLog(path === '' ? undefined : path),
  counts,
  pace,
  readyAt: Date.now() + Number(readyAfterMs),
});
process.send?.({ port });
