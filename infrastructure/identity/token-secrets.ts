import { randomBytes } from 'node:crypto';
import type { TokenSecrets } from '../../application/ports/token-secrets.ts';
import { PREFIX_LENGTH, TAIL_LENGTH } from '../../domain/identity/api-token.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Discards bytes from this value on, which would favour the first characters of the alphabet. */
const FAIR = 256 - (256 % ALPHABET.length);

/** @param bytes a source of random bytes */
export const base62 = (length: number, bytes: (count: number) => Uint8Array): string => {
  let text = '';
  while (text.length < length) {
    for (const byte of bytes(length - text.length)) {
      if (byte < FAIR) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
};

export const randomTokenSecrets: TokenSecrets = {
  prefix: () => base62(PREFIX_LENGTH, randomBytes),
  randomText: () => base62(TAIL_LENGTH, randomBytes),
};
