import { expect } from 'chai';
import {
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoClient,
  MongoClientClosedError,
  MongoCursorExhaustedError,
  MongoDriverError,
  type MongoError,
  MongoExpiredSessionError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoServerClosedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoStalePrimaryError,
  MongoTopologyClosedError,
  MongoUnexpectedServerResponseError,
  MongoWriteConcernError,
} from 'mongodb';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { call } from '../../../infrastructure/mongodb/calls.ts';
import { failureOf } from '../../../infrastructure/mongodb/failures.ts';

/** The driver does not export its errors of connection pools. */
class PoolError extends MongoDriverError {
  readonly #name: string;
  constructor(name: string) {
    super('the pool');
    this.#name = name;
  }
  override get name(): string {
    return this.#name;
  }
}

const labelled = (label: string): MongoError => {
  const error = new MongoServerError({ message: 'aborted', code: 8 });
  error.addErrorLabel(label);
  return error;
};

/** The error that the driver throws when the connection of a bulk write is lost. */
const bulkOf = (cause: Error): MongoBulkWriteError =>
  new MongoBulkWriteError(cause as MongoServerError, undefined as unknown as BulkWriteResult);

const CODES = [
  6, 7, 24, 43, 64, 89, 91, 112, 133, 134, 175, 189, 237, 251, 262, 290, 9001, 10058, 10107, 11600, 11601,
  11602, 13435, 13436,
];

describe('An error of the MongoDB driver', () => {
  const transient: readonly (readonly [string, unknown])[] = [
    ['a lost connection', new MongoNetworkError('connection 4 to 127.0.0.1:27017 closed')],
    ['a connection that timed out', new MongoNetworkTimeoutError('connection timed out')],
    ['a closed pool', new PoolError('MongoPoolClosedError')],
    ['a full queue of a pool', new PoolError('MongoWaitQueueTimeoutError')],
    ['a closed server', new MongoServerClosedError('Server is closed')],
    ['a former primary', new MongoStalePrimaryError('primary marked stale')],
    ['an ended session', new MongoExpiredSessionError()],
    ['an exhausted cursor', new MongoCursorExhaustedError('Cursor is exhausted')],
    ['an operation that timed out', new MongoOperationTimeoutError('timed out')],
    ['a reply cut short', new MongoUnexpectedServerResponseError('no cursor')],
    ['an abort of the driver', new DOMException('aborted', 'AbortError')],
    ['a bulk write on a lost connection', bulkOf(new MongoNetworkError('closed'))],
    ['a bulk write at a shutdown', bulkOf(new MongoServerError({ message: 'shutdown', code: 11600 }))],
    [
      'a write concern at a step-down',
      new MongoWriteConcernError({ ok: 1, writeConcernError: { code: 189, errmsg: 'stepped down' } }),
    ],
    ...['RetryableWriteError', 'TransientTransactionError', 'UnknownTransactionCommitResult'].map(
      (label) => [`the label ${label}`, labelled(label)] as const,
    ),
    ...CODES.map((code) => [`code ${code}`, new MongoServerError({ message: 'failed', code })] as const),
  ];
  for (const [name, error] of transient) {
    it(`is retried for ${name}`, () => expect(failureOf(error)).to.equal('transient'));
  }

  const gone: readonly (readonly [string, unknown])[] = [
    ['a closed topology', new MongoTopologyClosedError()],
    ['a client that is not connected', new MongoNotConnectedError('not connected')],
    ['a closed client', new MongoClientClosedError()],
    ['a bulk write of a closed topology', bulkOf(new MongoTopologyClosedError())],
  ];
  for (const [name, error] of gone) {
    it(`is StoreUnavailable at once for ${name}`, async () => {
      expect(failureOf(error)).to.equal('gone');
      const outcome = await call(() => Promise.reject(error)).catch((thrown: unknown) => thrown);
      expect(outcome).to.be.instanceOf(StoreUnavailable);
    });
  }

  it('is StoreUnavailable at once where no server is found', async () => {
    const client = new MongoClient('mongodb://127.0.0.1:1', { serverSelectionTimeoutMS: 50 });
    const error = await client
      .db('a')
      .command({ ping: 1 })
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(MongoServerSelectionError);
    expect(failureOf(error)).to.equal('gone');
    await client.close();
  });

  const final: readonly (readonly [string, unknown])[] = [
    ['a duplicate key', new MongoServerError({ message: 'duplicate', code: 11000 })],
    [
      'a bulk write with a duplicate key',
      bulkOf(new MongoServerError({ message: 'duplicate', code: 11000 })),
    ],
    ['a bad value', new MongoServerError({ message: 'bad value', code: 2 })],
    ['missing rights', new MongoServerError({ message: 'unauthorized', code: 13 })],
    ['a wrong argument', new MongoInvalidArgumentError('wrong')],
    ['an error of another origin', new TypeError('a bug')],
  ];
  for (const [name, error] of final) {
    it(`is passed on unchanged for ${name}`, async () => {
      expect(failureOf(error)).to.equal('final');
      const outcome = await call(() => Promise.reject(error)).catch((thrown: unknown) => thrown);
      expect(outcome).to.equal(error);
    });
  }
});
