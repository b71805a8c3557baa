import {
  type Binary,
  type ClientSession,
  type Db,
  type Document,
  type MongoClient,
  MongoServerError,
} from 'mongodb';
import { isRefusal, type Row } from '../../mongodb/calls.ts';

/** Multi-document transactions of a replica set or a sharded cluster (decision 35). */
export interface Transactions {
  /** Opens a session for consecutive transactions. */
  open(): TransactionSession;
  /** Runs one transaction in its own session. */
  run<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
}

export interface TransactionSession {
  /** Lets another process end the session: see {@link endTransactions}. */
  readonly id: Binary;
  /**
   * Reads one snapshot and writes all or nothing. `work` makes one call at a time. The caller repeats the whole
   * transaction after errors with one of the driver's two transaction labels. After any other error the session must
   * be ended.
   */
  run<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
  /** Aborts an open transaction. */
  end(): Promise<void>;
}

const SNAPSHOT = {
  readConcern: { level: 'snapshot' },
  writeConcern: { w: 'majority' },
  readPreference: 'primary',
} as const;

/** Undefined when the server has no transactions: a standalone one, or FerretDB. */
export async function transactionsOf(db: Db): Promise<Transactions | undefined> {
  const hello = await greet(db);
  if (typeof hello.setName !== 'string' && hello.msg !== 'isdbgrid') return undefined;
  const transactions: Transactions = {
    open: () => transactionSession(db.client),
    async run(work) {
      const session = transactionSession(db.client);
      try {
        return await session.run(work);
      } finally {
        await session.end();
      }
    },
  };
  return (await areSupported(transactions, db)) ? transactions : undefined;
}

function transactionSession(client: MongoClient): TransactionSession {
  const session = client.startSession();
  const { id } = session;
  if (id === undefined) throw new TypeError('a new session has no id');
  return {
    id: id.id,
    async run(work) {
      session.startTransaction(SNAPSHOT);
      const result = await work(session);
      await session.commitTransaction();
      return result;
    },
    end: () => session.endSession(),
  };
}

/**
 * Ends the session of a crashed process with its open transaction, whose locks the server would keep for a minute. If
 * the server refuses, the transaction expires.
 */
export async function endTransactions(db: Db, id: unknown): Promise<void> {
  try {
    await db.command({ killSessions: [{ id }] });
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
  }
}

const COMMAND_NOT_FOUND = 59;

/** MongoDB 4.4.1, for one, has no `hello`. */
async function greet(db: Db): Promise<Document> {
  try {
    return await db.command({ hello: 1 });
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== COMMAND_NOT_FOUND) throw error;
    return db.command({ isMaster: 1 });
  }
}

/** IllegalOperation, CommandNotFound and OperationNotSupportedInTransaction. */
const NO_TRANSACTIONS: ReadonlySet<unknown> = new Set([20, COMMAND_NOT_FOUND, 263]);

/** Runs a transaction without writes, since a server may belong to a set and still have no transactions. */
async function areSupported(transactions: Transactions, db: Db): Promise<boolean> {
  try {
    await transactions.run((session) => db.collection<Row>('meta_leases').findOne({ _id: '' }, { session }));
    return true;
  } catch (error) {
    if (isRefusal(error) || (error instanceof MongoServerError && NO_TRANSACTIONS.has(error.code)))
      return false;
    throw error;
  }
}
