import type { IncomingMessage } from 'node:http';
import { parse } from 'content-type';
import { DomainError } from '../../domain/core/errors.ts';

/** Kinds of body; JSON by default. */
export type BodyKind = 'json' | 'form' | 'multipart';

export const MEDIA_TYPES = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
} as const satisfies Readonly<Record<BodyKind, string>>;

const NAMES: Readonly<Record<BodyKind, string>> = { json: 'JSON', form: 'a form', multipart: 'multipart' };

export const JSON_ONLY = ['json'] as const;

const unsupported = (message: string): DomainError => new DomainError('unsupported_media_type', message);

/**
 * The kind of body that `Content-Type` declares.
 * @throws {DomainError} 415 unless it is one of `kinds` and uncompressed; JSON and forms must be in UTF-8
 */
export const bodyKindOf = ({ headers }: IncomingMessage, kinds: readonly BodyKind[]): BodyKind => {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw unsupported('Compressed bodies are not supported. Send the body without Content-Encoding.');
  }
  const { type, parameters } = parse(headers['content-type'] ?? '');
  const kind = kinds.find((each) => MEDIA_TYPES[each] === type);
  if (kind === undefined) {
    const [known, types] = [NAMES, MEDIA_TYPES].map((of) => kinds.map((each) => of[each]).join(' or '));
    throw unsupported(`The body must be ${known}, with Content-Type: ${types}.`);
  }
  if (kind !== 'multipart') {
    const charset = parameters.charset?.toLowerCase();
    if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
      throw unsupported('The body must be in UTF-8.');
    }
  }
  return kind;
};
