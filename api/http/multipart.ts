import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import busboy from 'busboy';
import { clearTimeout, setTimeout } from '../../application/core/runtime/timers.ts';
import { DomainError, invalid } from '../../domain/core/errors.ts';
import { FormFields, type FormValues } from './form-body.ts';
import { bodyKindOf } from './media-types.ts';

/**
 * Uploads: `multipart/form-data` with exactly one file, in the part `file`, and a few small fields. The file is
 * streamed, never buffered whole.
 */

const FIELDS = 8;
const FIELD_BYTES = 16 * 1024;
const NAME_LENGTH = 100;
/** Maximum bytes of fields and part headers. */
const OVERHEAD = 256 * 1024;

const TOTAL_MS = 240_000;
const IDLE_MS = 30_000;

export interface UploadLimits {
  /** Maximum bytes of the file. */
  readonly limit: number;
  /** ms for the whole upload; default four minutes. */
  readonly totalMs?: number | undefined;
  /** ms between two chunks; default half a minute. */
  readonly idleMs?: number | undefined;
}

export interface Multipart<Received> {
  readonly fields: FormValues;
  /** From the client; may be any text. */
  readonly filename: string | undefined;
  /** `type/subtype` in lower case; `text/plain` when the part names no type (RFC 7578). */
  readonly contentType: string;
  readonly received: Received;
}

const tooLarge = (limit: number): DomainError =>
  new DomainError('payload_too_large', `The file is larger than ${limit} bytes.`, { limit });

const refused = (path: string, code: string, message: string): DomainError =>
  invalid([{ path, code, message }]);

const malformed = (): DomainError =>
  refused('', 'malformed_multipart', 'The body is not valid multipart/form-data.');

const cutOff = (): DomainError => refused('', 'incomplete', 'The request ended before its body did.');

/**
 * Checks the headers. Order: 413, 415, 400.
 * @throws {DomainError}
 */
export const checkMultipart = (request: IncomingMessage, { limit }: UploadLimits): void => {
  if (Number(request.headers['content-length'] ?? 0) > limit + OVERHEAD) throw tooLarge(limit);
  bodyKindOf(request, ['multipart']);
  parserOf(request, limit).destroy();
};

/** @throws {DomainError} 400 without a boundary */
const parserOf = ({ headers }: IncomingMessage, limit: number): busboy.Busboy => {
  try {
    const parser = busboy({
      headers: { 'content-type': headers['content-type'] },
      defParamCharset: 'utf8',
      preservePath: true,
      limits: {
        // The parser reports a limit once it is reached, but a file may be exactly as large as the limit.
        fileSize: limit + 1,
        files: 1,
        fields: FIELDS,
        fieldSize: FIELD_BYTES,
        // The parser reports this limit already at the end of the last allowed part.
        parts: FIELDS + 2,
      },
    });
    // A destroyed parser also emits `error`, for an unfinished form.
    parser.on('error', () => undefined);
    return parser;
  } catch {
    throw malformed();
  }
};

/**
 * Reads an upload.
 * @param receive gets the file's bytes; when the upload fails, the file's stream is destroyed, and the failure is
 * thrown after `receive` has ended
 * @param drop deletes the stored file of a refused upload
 * @throws {DomainError} 413 as soon as the file or a field is too large; 400 for other faults, such as no file
 */
export const readMultipart = async <Received>(
  request: IncomingMessage,
  limits: UploadLimits,
  receive: (source: Readable) => Promise<Received>,
  drop: (received: Received) => Promise<void>,
): Promise<Multipart<Received>> => {
  const { limit, totalMs = TOTAL_MS, idleMs = IDLE_MS } = limits;
  const parser = parserOf(request, limit);
  const { promise: parsed, resolve: done, reject } = Promise.withResolvers<void>();
  const fields = new FormFields();
  let file: Omit<Multipart<Received>, 'fields' | 'received'> | undefined;
  let source: Readable | undefined;
  let received: Promise<Received> | undefined;
  let failure: { readonly error: unknown } | undefined;
  let bytes = 0;

  const fail = (error: unknown): void => {
    if (failure !== undefined) return;
    failure = { error };
    request.unpipe(parser);
    source?.destroy(error instanceof Error ? error : new Error('the upload failed'));
    parser.destroy();
    reject(error);
  };
  const slow = (): void => fail(refused('', 'too_slow', 'The upload did not arrive in time.'));
  const total = setTimeout(slow, totalMs);
  const idle = setTimeout(slow, idleMs);

  const onData = (chunk: Buffer): void => {
    idle.refresh();
    bytes += chunk.length;
    if (bytes > limit + OVERHEAD) fail(tooLarge(limit));
  };
  // `close` also follows the end; if the request is incomplete, the client has disconnected.
  const onClose = (): void => {
    if (!request.complete) fail(cutOff());
  };

  parser.on('file', (name, stream, { filename, mimeType }) => {
    stream.on('error', () => undefined);
    if (failure !== undefined) return void stream.destroy();
    if (name !== 'file') {
      stream.destroy();
      return fail(
        refused(
          String(name).slice(0, NAME_LENGTH),
          'unexpected',
          'The file must be sent in the part named file.',
        ),
      );
    }
    source = stream;
    stream.once('limit', () => fail(tooLarge(limit)));
    file = { filename, contentType: mimeType };
    received = receive(stream);
    received.catch(fail);
  });
  parser.on('field', (name, value, { valueTruncated }) => {
    if (name === 'file') fail(refused('file', 'invalid_type', 'The part named file must be a file.'));
    else if (String(name).length > NAME_LENGTH || valueTruncated) {
      fail(new DomainError('payload_too_large', 'A field of the form is too large.', { limit: FIELD_BYTES }));
    } else if (name !== undefined) fields.add(name, value);
  });
  parser.on('filesLimit', () => fail(refused('file', 'too_many', 'A request can upload only one file.')));
  const tooMany = (): void =>
    fail(refused('', 'too_many', `A request can have at most ${FIELDS} fields besides the file.`));
  parser.on('fieldsLimit', tooMany);
  parser.on('partsLimit', tooMany);
  parser.on('error', () => fail(request.complete || !request.destroyed ? malformed() : cutOff()));
  parser.on('close', () => done());

  request.on('data', onData);
  request.once('close', onClose);
  if (request.destroyed) onClose();
  request.pipe(parser);
  try {
    await parsed;
    if (file === undefined || received === undefined) {
      throw refused('file', 'required', 'The part named file is required.');
    }
    const stored = await received;
    // A refusal may come with the last bytes and truncate the file.
    if (failure !== undefined) throw failure.error;
    return { ...file, fields: fields.values(), received: stored };
  } catch (error) {
    const [stored] = await Promise.allSettled([received]);
    // The file was complete before another part failed.
    if (stored.status === 'fulfilled' && stored.value !== undefined) await drop(stored.value);
    throw error;
  } finally {
    clearTimeout(total);
    clearTimeout(idle);
    request.off('data', onData);
    request.off('close', onClose);
  }
};
