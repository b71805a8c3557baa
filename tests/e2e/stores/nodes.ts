import { randomUUID } from 'node:crypto';
import type WebSocket from 'ws';
import { type Answer, type Client, keyed } from '../../support/client.ts';
import { type Server, startServer } from '../../support/server.ts';
import { open, parseEnvelope } from '../../support/socket.ts';

/** Several processes of the product on the same two stores. Each process may be killed and started again. */

const RETRY_MS = 200;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class Node {
  readonly #env: Readonly<Record<string, string>>;
  #server: Server | undefined;

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  get server(): Server {
    if (this.#server === undefined) throw new Error('the node was not started');
    return this.#server;
  }

  async start(): Promise<void> {
    this.#server = await startServer({ env: this.#env });
  }

  async kill(): Promise<void> {
    await this.server.kill();
  }
}

/**
 * Calls the api nodes in turn under one idempotency key until one answers with success.
 * @throws for any answer but 2xx and 503
 */
export const insist = async (
  client: Client,
  nodes: readonly Node[],
  call: (api: Client, options: ReturnType<typeof keyed>) => Promise<Answer>,
): Promise<Answer> => {
  const options = keyed(randomUUID());
  for (let tries = Math.floor(Math.random() * nodes.length); ; tries += 1) {
    const node = nodes[tries % nodes.length];
    if (node === undefined) throw new Error('no node');
    try {
      const answer = await call(client.at(node.server), options);
      if (answer.status < 300) return answer;
      if (answer.status !== 503) throw new Error(`${answer.status}: ${answer.text}`);
    } catch (error) {
      // A killed node closes its connections; any other error is a failure.
      if (!(error instanceof TypeError)) throw error;
    }
    await pause(RETRY_MS);
  }
};

/** A client that resumes by position at the next node whenever its connection ends. */
export class ResumingSocket {
  readonly #nodes: readonly Node[];
  readonly #token: string;
  /** Ids of messages, in the order of their frames. */
  readonly messageIds: string[] = [];
  /** Number of resyncs that the server has sent. */
  resyncs = 0;
  #at = 0;
  #after: string | undefined;
  #socket: WebSocket | undefined;
  #isEnded = false;

  constructor(nodes: readonly Node[], token: string) {
    this.#nodes = nodes;
    this.#token = token;
  }

  /** Resolves once the first connection is ready. */
  connect(): Promise<void> {
    return new Promise((resolve) => this.#open(resolve));
  }

  close(): void {
    this.#isEnded = true;
    this.#socket?.terminate();
  }

  #open(ready: () => void): void {
    const node = this.#nodes[this.#at % this.#nodes.length];
    if (node === undefined || this.#isEnded) return;
    const after = this.#after;
    const socket = open(node.server, this.#token, after === undefined ? {} : { after });
    this.#socket = socket;
    socket.on('message', (data) => {
      const envelope = parseEnvelope(String(data));
      this.#after = envelope.position;
      if (envelope.kind === 'message') this.messageIds.push(envelope.message.id);
      if (envelope.kind === 'system' && envelope.event === 'resync') this.resyncs += 1;
      if (envelope.kind === 'system') ready();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#at += 1;
      setTimeout(() => this.#open(ready), RETRY_MS);
    });
  }
}
