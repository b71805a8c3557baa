import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb';

/**
 * Classifies errors of the driver. `gone`: no server was found in time, or the client is closed. `transient`: a retry
 * may succeed. `final`: a retry fails again.
 */
type Failure = 'gone' | 'transient' | 'final';

export function failureOf(thrown: unknown): Failure {
  const error = reasonOf(thrown);
  if (!(error instanceof MongoError)) return isAbort(error) ? 'transient' : 'final';
  if (error instanceof MongoServerSelectionError || GONE.has(error.name)) return 'gone';
  if (error instanceof MongoNetworkError || INTERRUPTED.has(error.name)) return 'transient';
  if (TRANSIENT_LABELS.some((label) => error.hasErrorLabel(label))) return 'transient';
  return codesOf(error).some((code) => TRANSIENT_CODES.has(code)) ? 'transient' : 'final';
}

/** A bulk write wraps the error of its connection in an error of another class. */
function reasonOf(error: unknown): unknown {
  const inner = error instanceof MongoBulkWriteError ? error.errorResponse : undefined;
  return inner instanceof Error ? inner : error;
}

function codesOf(error: MongoError): readonly unknown[] {
  const bulk = error instanceof MongoBulkWriteError ? error.result?.getWriteConcernError()?.code : undefined;
  return error instanceof MongoServerError ? [error.code, bulk] : [];
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

const GONE: ReadonlySet<string> = new Set([
  'MongoTopologyClosedError',
  'MongoNotConnectedError',
  'MongoClientClosedError',
]);

/** The connection, pool, cursor or session ended during the operation; a retry uses another one. */
const INTERRUPTED: ReadonlySet<string> = new Set([
  'MongoPoolClosedError',
  'MongoWaitQueueTimeoutError',
  'MongoServerClosedError',
  'MongoStalePrimaryError',
  'MongoExpiredSessionError',
  'MongoCursorExhaustedError',
  'MongoOperationTimeoutError',
  'MongoUnexpectedServerResponseError',
]);

/** Includes an unknown commit, since the retried operations are safe to repeat. */
const TRANSIENT_LABELS = [
  'RetryableWriteError',
  'RetryableError',
  'TransientTransactionError',
  'UnknownTransactionCommitResult',
];

/** The server's codes of elections, shutdowns, lost cursors and interrupted or slow operations. */
const TRANSIENT_CODES: ReadonlySet<unknown> = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  24, // LockTimeout
  43, // CursorNotFound
  64, // WriteConcernFailed
  89, // NetworkTimeout
  91, // ShutdownInProgress
  112, // WriteConflict
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  175, // QueryPlanKilled
  189, // PrimarySteppedDown
  237, // CursorKilled
  251, // NoSuchTransaction
  262, // ExceededTimeLimit
  290, // TransactionExceededLifetimeLimitSeconds
  9001, // SocketException
  10058, // LegacyNotPrimary
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11601, // Interrupted
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
]);
