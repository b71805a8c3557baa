import { createServer, type ServerResponse } from 'node:http';

/**
 * Receives webhooks and answers 204. `GET /times` returns the delays (ms) of webhooks after their events, and clears
 * the list. `GET /after/<n>` answers when the list has n delays, with the time (ms): a client that polled would slow
 * the measurement.
 */
const delays: number[] = [];
const OCCURRED = /"occurred_at":"([^"]+)"/;
const AFTER = /^\/after\/(\d+)$/;

let awaited: { readonly count: number; readonly response: ServerResponse } | undefined;

const tellIfThere = (): void => {
  if (awaited === undefined || delays.length < awaited.count) return;
  awaited.response.end(JSON.stringify([performance.timeOrigin + performance.now()]));
  awaited = undefined;
};

createServer((request, response) => {
  if (request.method === 'GET') {
    const after = AFTER.exec(request.url ?? '')?.[1];
    if (after === undefined) response.end(JSON.stringify(request.url === '/times' ? delays.splice(0) : []));
    else {
      awaited = { count: Number(after), response };
      tellIfThere();
    }
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const occurred = OCCURRED.exec(Buffer.concat(chunks).toString('latin1'))?.[1];
    delays.push(Date.now() - Date.parse(occurred ?? ''));
    response.writeHead(204).end();
    tellIfThere();
  });
}).listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
