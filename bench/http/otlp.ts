import { createServer } from 'node:http';

/** Receives traces by OTLP over HTTP and drops them. A GET answers the number of spans received. */

const SPAN = '"spanId"';
let spans = 0;

createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(String(spans));
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    spans += Buffer.concat(chunks).toString('latin1').split(SPAN).length - 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
}).listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
