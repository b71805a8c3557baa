import { createSecretKey } from 'node:crypto';
import { z } from 'zod';
import { randomBytes } from '../runtime/random.ts';
import { decrypt, encrypt } from './aes-gcm.ts';
import type { KeyRing } from './key-ring.ts';

const CONTEXT = 'stored-answer';
const KEY = 32;

const storedForm = z.object({
  /** One share of the answer's key for each personal text, sealed with the data key of that text. */
  shares: z.array(z.string()),
  text: z.string(),
});

/** Combines shares into the key by XOR: if one share is missing, the key cannot be computed. */
const combined = (shares: readonly Uint8Array[]): Buffer => {
  const key = Buffer.alloc(KEY);
  for (const share of shares) for (let at = 0; at < KEY; at += 1) key[at] = (key[at] ?? 0) ^ (share[at] ?? 0);
  return key;
};

/**
 * Seals stored answers of keyed requests. Splits each answer's key into one share per personal text, and seals the
 * share with the text's data key, so that erasing one of the texts erases the answer. An answer without personal texts
 * is not sealed. `restore` gives undefined for an erased answer and for an unknown form, and throws for a damaged one.
 */
export const sealedAnswers = (
  keys: KeyRing,
): {
  store(body: unknown, personal: readonly string[]): Promise<string>;
  restore(text: string): Promise<unknown>;
} => ({
  store: async (body, personal) => {
    const text = JSON.stringify(body);
    if (personal.length === 0) return JSON.stringify({ shares: [], text });
    await keys.load(personal);
    const parts = personal.map(() => randomBytes(KEY));
    const shares = personal.map((id, index) => keys.seal(id, parts[index]?.toString('base64') ?? ''));
    const sealed = encrypt(createSecretKey(combined(parts)), CONTEXT, text).toString('base64');
    return JSON.stringify({ shares, text: sealed });
  },
  restore: async (stored) => {
    const form = storedForm.safeParse(JSON.parse(stored));
    if (!form.success) return undefined;
    const { shares, text } = form.data;
    if (shares.length === 0) return JSON.parse(text);
    const parts: Uint8Array[] = [];
    for (const share of shares) {
      const part = await keys.open(share);
      if (part === undefined) return undefined;
      parts.push(Buffer.from(part, 'base64'));
    }
    const key = createSecretKey(combined(parts));
    return JSON.parse(decrypt(key, CONTEXT, Buffer.from(text, 'base64')).toString('utf8'));
  },
});
