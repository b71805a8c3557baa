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
import { UnfinishedImport } from '../log-import.ts';

/**
 * Maps an append's error. The client's errors are all named `Error`, and some from gRPC have no `type`: an unknown
 * error means an unavailable store, never a wrong expected revision.
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
    return new EventTooLarge(`append to ${stream} is larger than EventStoreDB accepts`, { cause: error });
  }
  return unavailable(error);
}

/** Whether the error may mean that an identical append is in flight. A slow server causes the same error. */
export const mayBeInFlight = (error: unknown): boolean => typeOf(error) === ErrorType.DEADLINE_EXCEEDED;

/** Streams that never existed or were deleted are read as empty. */
export function isMissingStream(error: unknown): boolean {
  if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return true;
  const type = typeOf(error);
  return type === ErrorType.STREAM_NOT_FOUND || type === ErrorType.STREAM_DELETED;
}

export function unavailable(error: unknown): StoreUnavailable | UnfinishedImport {
  if (error instanceof StoreUnavailable || error instanceof UnfinishedImport) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreUnavailable(`EventStoreDB: ${reason}`, { cause: error });
}

/** The actual version is a bigint or a string; the unary call gives -1 for a missing stream. */
function revisionOf(version: unknown): number | undefined {
  return typeof version === 'bigint' && version >= 0n ? Number(version) : undefined;
}

function typeOf(error: unknown): unknown {
  return error instanceof Error && 'type' in error ? error.type : undefined;
}
