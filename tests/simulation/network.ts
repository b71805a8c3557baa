import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { Duplex } from 'node:stream';

/** One end of a connection without a network. */
class End extends Duplex {
  other: End | undefined;
  readonly remoteAddress = '127.0.0.1';

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.other !== undefined && !this.other.destroyed) this.other.push(chunk);
    done();
  }

  override _final(done: () => void): void {
    if (this.other !== undefined && !this.other.destroyed) this.other.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { other } = this;
    this.other = undefined;
    if (other !== undefined && !other.destroyed) process.nextTick(() => other.destroy());
    done(error);
  }

  setTimeout(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  destroySoon(): void {
    this.end(() => this.destroy());
  }
}

const connections = new WeakMap<Server, Set<Duplex>>();

/** Breaks all connections of a server. */
export const disconnect = (server: Server): void => {
  for (const served of connections.get(server) ?? []) served.destroy();
};

/** A client's end of a new connection to a server of this process. */
export const connect = (server: Server): Duplex => {
  const [client, served] = [new End(), new End()];
  client.other = served;
  served.other = client;
  const open = connections.get(server) ?? new Set<Duplex>();
  connections.set(server, open.add(served));
  served.once('close', () => open.delete(served));
  server.emit('connection', served);
  return client;
};

/** A file in a form. */
export class Upload {
  readonly filename: string;
  readonly text: string;

  constructor(filename: string, text: string) {
    this.filename = filename;
    this.text = text;
  }
}

const BOUNDARY = 'boundary-of-the-simulation';

const encoded = (body: unknown): { readonly type: string; readonly text: string } => {
  if (!(body instanceof Upload)) return { type: 'application/json', text: JSON.stringify(body) };
  const head = `content-disposition: form-data; name="file"; filename="${body.filename}"\r\ncontent-type: text/plain`;
  const text = `--${BOUNDARY}\r\n${head}\r\n\r\n${body.text}\r\n--${BOUNDARY}--\r\n`;
  return { type: `multipart/form-data; boundary=${BOUNDARY}`, text };
};

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON, else the text. */
  readonly body: unknown;
}

/** The connection broke before the answer: the request may have been carried out. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

/** One request through the server's real parser and pipeline. @throws {Broken} */
export const call = (server: Server, { method, path, headers = {}, body }: Call): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const sent = body === undefined ? undefined : encoded(body);
    const connection = connect(server);
    const request = httpRequest({
      createConnection: () => connection,
      method,
      path,
      headers: {
        host: 'simulation',
        connection: 'close',
        ...(sent === undefined
          ? {}
          : { 'content-type': sent.type, 'content-length': Buffer.byteLength(sent.text) }),
        ...headers,
      },
    });
    const broken = (): void => reject(new Broken('the connection broke'));
    request.on('error', broken);
    request.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('aborted', broken);
      response.on('error', broken);
      response.on('end', () => {
        const answer = Buffer.concat(parts).toString();
        const isJson = response.headers['content-type']?.startsWith('application/json') === true;
        const parsed: unknown = isJson ? JSON.parse(answer) : answer;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed });
      });
    });
    connection.on('close', broken);
    request.end(sent?.text);
  });
