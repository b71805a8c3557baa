import type { Server } from 'node:http';
import { Duplex } from 'node:stream';
import { AnswerParser, type Reply } from './answer-parser.ts';

export type { Reply } from './answer-parser.ts';

/** The other end of a connection, to which an {@link End} writes. */
interface Peer {
  onData(chunk: Buffer): void;
  onEnd(): void;
  onClose(): void;
}

/** One end of a connection within this process. */
class End extends Duplex {
  peer: Peer | undefined;
  readonly remoteAddress = '127.0.0.1';

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.peer?.onData(chunk);
    done();
  }

  override _final(done: () => void): void {
    this.peer?.onEnd();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { peer } = this;
    this.peer = undefined;
    if (peer !== undefined) process.nextTick(() => peer.onClose());
    done(error);
  }

  onData(chunk: Buffer): void {
    if (!this.destroyed) this.push(chunk);
  }
  onEnd(): void {
    if (!this.destroyed) this.push(null);
  }
  onClose(): void {
    this.peer = undefined;
    if (!this.destroyed) this.destroy();
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

/** The server's end of a new connection to a server of this process. */
const opened = (server: Server, peer: Peer): End => {
  const served = new End();
  served.peer = peer;
  const open = connections.get(server) ?? new Set<Duplex>();
  connections.set(server, open.add(served));
  served.once('close', () => open.delete(served));
  server.emit('connection', served);
  return served;
};

/** A client's end of a new connection to a server of this process. */
export const connect = (server: Server): Duplex => {
  const client = new End();
  client.peer = opened(server, client);
  return client;
};

/** A file that is sent as `multipart/form-data`. */
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

/** The connection broke before the answer: the request may have been carried out. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

/** A connection that carries one request after another. */
class KeptConnection implements Peer {
  readonly #served: End;
  readonly #parser = new AnswerParser();
  #waiting: PromiseWithResolvers<Reply> | undefined;
  #isOpen = true;

  constructor(server: Server) {
    this.#served = opened(server, this);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get isFree(): boolean {
    return this.#isOpen && this.#waiting === undefined;
  }

  send(text: string): Promise<Reply> {
    const waiting = Promise.withResolvers<Reply>();
    this.#waiting = waiting;
    // The server may answer within this call.
    this.#served.onData(Buffer.from(text));
    return waiting.promise;
  }

  onData(chunk: Buffer): void {
    const reply = this.#parser.take(chunk);
    if (reply === undefined) return;
    if (reply.headers.connection === 'close') this.#isOpen = false;
    this.#waiting?.resolve(reply);
    this.#waiting = undefined;
  }

  onEnd(): void {
    this.onClose();
  }

  onClose(): void {
    this.#isOpen = false;
    this.#waiting?.reject(new Broken('the connection broke'));
    this.#waiting = undefined;
  }
}

const keptConnections = new WeakMap<Server, KeptConnection[]>();

/** A free connection to the server, or a new one if none is free. */
const connectionTo = (server: Server): KeptConnection => {
  const known = (keptConnections.get(server) ?? []).filter((connection) => connection.isOpen);
  const connection = known.find(({ isFree }) => isFree) ?? new KeptConnection(server);
  if (!known.includes(connection)) known.push(connection);
  keptConnections.set(server, known);
  return connection;
};

/** One request through the server's real parser and pipeline. @throws {Broken} */
export const call = (server: Server, { method, path, headers = {}, body }: Call): Promise<Reply> => {
  const sent = body === undefined ? undefined : encoded(body);
  const length = sent === undefined ? 0 : Buffer.byteLength(sent.text);
  const all: Readonly<Record<string, string>> = {
    host: 'simulation',
    ...(sent === undefined ? {} : { 'content-type': sent.type }),
    ...(sent === undefined && method === 'GET' ? {} : { 'content-length': String(length) }),
    ...headers,
  };
  const head = [
    `${method} ${path} HTTP/1.1`,
    ...Object.entries(all).map(([name, value]) => `${name}: ${value}`),
  ];
  return connectionTo(server).send(`${head.join('\r\n')}\r\n\r\n${sent?.text ?? ''}`);
};
