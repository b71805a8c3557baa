import {
  ErrorType,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import {
  EventTooLarge,
  type ExpectedRevision,
  StoreUnavailable,
  WrongExpectedRevision,
} from '../../../application/ports/event-store.ts';

/**
 * The client's errors are all named `Error`, and some that come straight from gRPC have no `type`: what is not
 * known is an unreachable store, never a wrong expectation.
 */
export function appendError(error: unknown, stream: string, expected: ExpectedRevision): Error {
  if (error instanceof WrongExpectedVersionError) {
    return new WrongExpectedRevision(stream, expected, revisionOf(error.actualVersion));
  }
  if (typeOf(error) === ErrorType.WRONG_EXPECTED_VERSION) {
    return new WrongExpectedRevision(stream, expected, undefined);
  }
  if (
    error instanceof MaxAppendSizeExceededError ||
    typeOf(error) === ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED
  ) {
    return new EventTooLarge(`append to ${stream} is larger than EventStoreDB takes`, { cause: error });
  }
  return unavailable(error);
}

/** The answer to an append while an identical one is in flight; also that of a server that is too slow. */
export const mayBeTwin = (error: unknown): boolean => typeOf(error) === ErrorType.DEADLINE_EXCEEDED;

/** Streams that never were or were deleted read as empty. */
export function isMissingStream(error: unknown): boolean {
  if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return true;
  const type = typeOf(error);
  return type === ErrorType.STREAM_NOT_FOUND || type === ErrorType.STREAM_DELETED;
}

export function unavailable(error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreUnavailable(`EventStoreDB: ${reason}`, { cause: error });
}

/** The actual version is a bigint or a word; -1 stands for no stream on the unary path. */
function revisionOf(version: unknown): number | undefined {
  return typeof version === 'bigint' && version >= 0n ? Number(version) : undefined;
}

function typeOf(error: unknown): unknown {
  return error instanceof Error && 'type' in error ? error.type : undefined;
}
