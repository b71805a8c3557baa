import type { Failed, FailureReason } from '../../application/ports/outbound-http.ts';
import { TlsError } from './pinned-socket.ts';

/**
 * Describes in fixed words why a call has no answer, since messages of libraries hold addresses, names and parts of
 * answers.
 */

export const failed = (reason: FailureReason, message: string): Failed => ({
  kind: 'failed',
  reason,
  message,
});

/** The code of the error or, if it has none, of its first inner error or its cause. */
const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return codeOf(error.cause);
};

const CONNECTING: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection was reset.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The network of the host cannot be reached.',
  UND_ERR_SOCKET: 'The connection ended before there was an answer.',
};

const CERTIFICATES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The certificate has expired.',
  CERT_NOT_YET_VALID: 'The certificate is not valid yet.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is not of a trusted authority.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate is not of a trusted authority.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'The certificate is not of a trusted authority.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate is not of a trusted authority.',
};

export const failureOf = (error: unknown): Failed => {
  const code = codeOf(error);
  if (error instanceof TlsError) {
    return failed('tls', CERTIFICATES[code] ?? 'No secure connection could be made.');
  }
  if (code === 'ETIMEDOUT') return failed('timeout', 'There was no answer in time.');
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return failed('protocol', 'The answer has too many headers.');
  if (code.startsWith('HPE_') || (code.startsWith('UND_ERR_') && code !== 'UND_ERR_SOCKET')) {
    return failed('protocol', 'The answer is not valid HTTP.');
  }
  return failed('connection', CONNECTING[code] ?? 'The connection could not be made, or broke.');
};
