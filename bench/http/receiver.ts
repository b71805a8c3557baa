import { createServer } from 'node:http';

/** Takes webhooks, answers 204, and tells at `GET /times` how late each came after what it tells of, in ms; once. */
const times: number[] = [];
const OCCURRED = /"occurred_at":"([^"]+)"/;

createServer((request, response) => {
  if (request.method === 'GET') {
    const told = request.url === '/times' ? times.splice(0) : [times.length];
    response.end(JSON.stringify(told));
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const occurred = OCCURRED.exec(Buffer.concat(chunks).toString('latin1'))?.[1];
    times.push(Date.now() - Date.parse(occurred ?? ''));
    response.writeHead(204).end();
  });
}).listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
