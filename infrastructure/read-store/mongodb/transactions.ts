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
  /** A session for transactions one after the other. */
  open(): TransactionSession;
  /** One transaction in a session of its own. */
  run<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
}

export interface TransactionSession {
  /** By which another process can end it: see {@link endTransactions}. */
  readonly id: Binary;
  /**
   * Reads one snapshot and writes all or nothing. `work` makes one call at a time and may be repeated as a whole: `call`
   * does so after errors with one of the driver's two transaction labels. After an error the session has to be ended.
   */
  run<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
  /** Aborts what was not committed. */
  end(): Promise<void>;
}

const SNAPSHOT = {
  readConcern: { level: 'snapshot' },
  writeConcern: { w: 'majority' },
  readPreference: 'primary',
} as const;

/** Undefined where the server has none: a standalone one, or FerretDB. */
export async function transactionsOf(client: MongoClient, db: Db): Promise<Transactions | undefined> {
  const hello = await greet(db);
  if (typeof hello.setName !== 'string' && hello.msg !== 'isdbgrid') return undefined;
  const transactions: Transactions = {
    open: () => transactionSession(client),
    async run(work) {
      const session = transactionSession(client);
      try {
        return await session.run(work);
      } finally {
        await session.end();
      }
    },
  };
  return (await isTaken(transactions, db)) ? transactions : undefined;
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
 * Aborts what a session of a dead process has left open: the server would keep its locks for a minute. A server that
 * refuses lets it lapse.
 */
export async function endTransactions(db: Db, id: unknown): Promise<void> {
  try {
    await db.command({ killSessions: [{ id }] });
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
  }
}

const COMMAND_NOT_FOUND = 59;

/** MongoDB before 4.4.2 has no `hello`. */
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

/** Tries one that changes nothing: a server may say that it is of a set and have no transactions. */
async function isTaken(transactions: Transactions, db: Db): Promise<boolean> {
  try {
    await transactions.run((session) => db.collection<Row>('meta_leases').findOne({ _id: '' }, { session }));
    return true;
  } catch (error) {
    if (isRefusal(error) || (error instanceof MongoServerError && NO_TRANSACTIONS.has(error.code)))
      return false;
    throw error;
  }
}
