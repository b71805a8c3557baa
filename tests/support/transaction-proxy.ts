import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { BSON } from 'mongodb';
import { answer, messagesOf, request, type WireMessage } from './wire.ts';

type Document = BSON.Document;

/**
 * A proxy in front of FerretDB that imitates a replica set's transactions as far as the read store needs them. Writes
 * of a transaction are held until its commit, and then applied at once. A transaction fails like MongoDB's
 * (`WriteConflict`, label `TransientTransactionError`) in three cases: a document of a conditional update has changed;
 * a later commit has written the same documents; or the transaction only reads, and a later commit has written a
 * collection that it has read.
 */
export interface TransactionProxy {
  readonly url: string;
  /** Names of all commands in transactions, and of `killSessions`, in order. */
  readonly commands: string[];
  /** Answers the next command of that name with this error; with `isDone` it is executed nevertheless. */
  failNext(name: string, error: Document, isDone?: boolean): void;
  readonly open: number;
  stop(): Promise<void>;
}

interface Transaction {
  readonly number: string;
  /** Number of commits before the first read of the transaction. */
  began: number | undefined;
  readonly reads: Set<string>;
  readonly writes: { readonly update: string; readonly $db: string; readonly statement: Document }[];
  isBusy: boolean;
}

const SET = 'rs0';
const FEW = 100;
const READERS_MS = 500;
export const TRANSIENT = {
  code: 112,
  codeName: 'WriteConflict',
  errmsg: 'WriteConflict',
  errorLabels: ['TransientTransactionError'],
};
const GONE = { ...TRANSIENT, code: 251, codeName: 'NoSuchTransaction', errmsg: 'NoSuchTransaction' };

export async function startTransactionProxy(target: string): Promise<TransactionProxy> {
  const { hostname, port: backendPort } = new URL(target);
  const transactions = new Map<string, Transaction>();
  const commands: string[] = [];
  const failures: { name: string; error: Document; isDone: boolean }[] = [];
  const sockets = new Set<Socket>();
  const gate = new Gate();
  /** For each commit, the documents that it wrote and their collections. */
  const commits: Set<unknown>[] = [];
  let port = 0;

  const failed = (error: Document): Document => ({ ok: 0, ...error });

  async function commit(transaction: Transaction, send: Send): Promise<Document> {
    const since = () => commits.slice(transaction.began ?? commits.length);
    if (transaction.writes.length === 0) {
      const isStale = since().some((written) => meets(written, transaction.reads));
      return isStale ? failed(TRANSIENT) : { ok: 1 };
    }
    await readersEnd(transaction);
    const rows = new Set<unknown>(transaction.writes.map(keyOf));
    return gate.alone(async () => {
      if (since().some((written) => meets(written, rows))) return failed(TRANSIENT);
      for (const { update, $db, statement } of transaction.writes) {
        if (statement.upsert === true) continue;
        if (!(await isFound(send, update, $db, statement.q))) return failed(TRANSIENT);
      }
      for (const [key, writes] of Map.groupBy(transaction.writes, ({ $db, update }) => `${$db}\n${update}`)) {
        const [$db, name] = key.split('\n');
        const rows = writes.length > FEW ? writes.filter(isRow) : [];
        const others = writes.filter((write) => !rows.includes(write));
        const updates = others.map(({ statement }) => statement);
        if (updates.length > 0) await carriedOut(send, { update: name, updates, $db });
        if (rows.length === 0) continue;
        // One deletion and one insertion are many times faster than an update per document.
        const ids = rows.map(({ statement }) => statement.q._id);
        const documents = rows.map(({ statement }) => ({ ...statement.q, ...statement.u }));
        await carriedOut(send, { delete: name, deletes: [{ q: { _id: { $in: ids } }, limit: 0 }], $db });
        await carriedOut(send, { insert: name, documents, $db });
      }
      commits.push(new Set([...rows, ...transaction.writes.map(({ update }) => update)]));
      return { ok: 1 };
    });
  }

  /** Waits some time for read-only transactions: they have no snapshot here, so this commit would make them repeat. */
  async function readersEnd({ writes }: Transaction): Promise<void> {
    const written = new Set(writes.map(({ update }) => update));
    const isRead = (): boolean =>
      [...transactions.values()].some((other) => other.writes.length === 0 && meets(other.reads, written));
    for (const until = Date.now() + READERS_MS; isRead() && Date.now() < until; ) await delay(2);
  }

  /** Collects the writes of a transaction without applying them. */
  async function hold(
    transaction: Transaction,
    { update, updates, $db }: Document,
    send: Send,
  ): Promise<Document> {
    let n = 0;
    for (const statement of updates) {
      const isWritten = statement.upsert === true || (await isFound(send, update, $db, statement.q));
      if (!isWritten) continue;
      n += 1;
      transaction.writes.push({ update, $db, statement });
    }
    return { n, nModified: n, ok: 1 };
  }

  async function inTransaction(name: string, command: Document, send: Send): Promise<Document> {
    const id = String(command.lsid.id);
    const number = String(command.txnNumber);
    if (command.startTransaction === true) {
      // Like the server: a session's next transaction ends the previous one.
      transactions.set(id, { number, began: undefined, reads: new Set(), writes: [], isBusy: false });
      if (command.readConcern?.level !== 'snapshot') throw new Error('a transaction without a snapshot');
    }
    const transaction = transactions.get(id);
    if (transaction === undefined || transaction.number !== number) return failed(GONE);
    if (transaction.isBusy) throw new Error(`${name} beside another command of the transaction`);
    transaction.isBusy = true;
    try {
      if (name === 'abortTransaction' || name === 'commitTransaction') {
        transactions.delete(id);
        return name === 'abortTransaction' ? { ok: 1 } : await commit(transaction, send);
      }
      if (name === 'update') return await gate.shared(() => hold(transaction, command, send));
      if (name !== 'find' && name !== 'getMore') throw new Error(`${name} in a transaction`);
      if (transaction.writes.some(({ update }) => update === command.find)) {
        throw new Error('a read of what was written');
      }
      transaction.reads.add(command.find ?? command.collection);
      return await gate.shared(() => {
        transaction.began ??= commits.length;
        return send(plain(command));
      });
    } finally {
      transaction.isBusy = false;
    }
  }

  async function perform(name: string, command: Document, send: Send): Promise<Document> {
    if (command.autocommit === false) return inTransaction(name, command, send);
    if (name === 'killSessions') {
      commands.push(name);
      for (const { id } of command.killSessions) transactions.delete(String(id));
      return { ok: 1 };
    }
    const reply = await gate.shared(() => send(plain(command)));
    if (!['hello', 'ismaster', 'isMaster'].includes(name)) return reply;
    const me = `127.0.0.1:${port}`;
    return { ...reply, setName: SET, setVersion: 1, hosts: [me], me, primary: me, secondary: false };
  }

  async function handle(command: Document, send: Send): Promise<Document> {
    const [name = ''] = Object.keys(command);
    if (command.autocommit === false) commands.push(name);
    const at = failures.findIndex((failure) => failure.name === name);
    const [failure] = at < 0 ? [] : failures.splice(at, 1);
    if (failure !== undefined && !failure.isDone) {
      if (command.lsid !== undefined) transactions.delete(String(command.lsid.id));
      return failed(failure.error);
    }
    try {
      const reply = await perform(name, command, send);
      return failure === undefined ? reply : failed(failure.error);
    } catch (error) {
      // A rule of the proxy was violated, such as an unexpected command. Callers do not handle this code.
      return failed({ code: 8, codeName: 'UnknownError', errmsg: String(error) });
    }
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    const backend = connect(Number(backendPort), hostname);
    sockets.add(backend);
    const send = sender(backend);
    const end = (): void => {
      socket.destroy();
      backend.destroy();
    };
    serve(socket, (each) => handle(each.body, send)).then(end, end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  port = address.port;
  return {
    url: `mongodb://127.0.0.1:${port}`,
    commands,
    failNext: (name, error, isDone = false) => failures.push({ name, error, isDone }),
    get open() {
      return transactions.size;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const meets = (one: ReadonlySet<unknown>, other: ReadonlySet<unknown>): boolean =>
  [...one].some((each) => other.has(each));

const keyOf = ({ update, statement }: { readonly update: string; readonly statement: Document }): string =>
  `${update}\n${statement.q._id}`;

/** Whether a held write replaces or inserts a whole document. */
const isRow = ({ statement }: { readonly statement: Document }): boolean =>
  statement.upsert === true && Object.keys(statement.q).join() === '_id';

async function carriedOut(send: Send, command: Document): Promise<void> {
  const reply = await send(command);
  if (reply.writeErrors !== undefined) throw new Error('a held back write was refused');
}

type Send = (command: Document) => Promise<Document>;

async function serve(socket: Socket, handle: (message: WireMessage) => Promise<Document>): Promise<void> {
  for await (const message of messagesOf(socket)) {
    const reply = await handle(message);
    if (!socket.destroyed) socket.write(answer(message, reply));
  }
}

/** Sends commands on one connection in order. */
function sender(backend: Socket): Send {
  const replies = messagesOf(backend);
  let last: Promise<unknown> = Promise.resolve();
  let requests = 0;
  return (command) => {
    const sent = last.then(async () => {
      requests += 1;
      backend.write(request(requests, command));
      const { value, done } = await replies.next();
      if (done === true) throw new Error('FerretDB has hung up');
      return value.body;
    });
    last = sent.catch(() => undefined);
    return sent;
  };
}

const isFound = async (send: Send, find: string, $db: string, filter: Document): Promise<boolean> =>
  (await send({ find, filter, limit: 1, singleBatch: true, $db })).cursor.firstBatch.length > 0;

/** Removes fields that FerretDB does not know. */
function plain(command: Document): Document {
  const { lsid, txnNumber, autocommit, startTransaction, readConcern, writeConcern, $clusterTime, ...rest } =
    command;
  return rest;
}

/** A lock: shared work runs concurrently, exclusive work alone. */
class Gate {
  #alone: Promise<unknown> = Promise.resolve();
  readonly #shared = new Set<Promise<unknown>>();

  async shared<T>(work: () => Promise<T>): Promise<T> {
    await this.#settled();
    const working = work();
    const ended = working.then(
      () => undefined,
      () => undefined,
    );
    this.#shared.add(ended);
    try {
      return await working;
    } finally {
      this.#shared.delete(ended);
    }
  }

  alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#alone;
    const working = before.then(async () => {
      await Promise.all(this.#shared);
      return work();
    });
    this.#alone = working.catch(() => undefined);
    return working;
  }

  async #settled(): Promise<void> {
    for (let seen: Promise<unknown> | undefined; seen !== this.#alone; ) {
      seen = this.#alone;
      await seen;
    }
  }
}
