import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { slotOf } from '../../application/core/privacy/key-pages.ts';
import { storedEvents } from './event-rows.ts';

/** Searches the raw bytes of a data folder. */

const base64Forms = (bytes: Buffer): string[] =>
  [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replaceAll('=', '');
    // The first and last characters depend on their neighbours.
    return text.slice(shift === 0 ? 0 : 4, -3);
  });

/** Encodings of a text or key that can be read without any secret. */
const formsOf = (secret: string | Buffer): Buffer[] => {
  const bytes = Buffer.from(secret);
  const texts = [bytes.toString('hex'), ...base64Forms(bytes)];
  if (typeof secret === 'string') {
    texts.push(JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), secret.toLowerCase());
  }
  const forms = [bytes, ...texts.map((text) => Buffer.from(text))];
  if (typeof secret === 'string') forms.push(Buffer.from(secret, 'utf16le'));
  return forms;
};

const contents = async (folder: string): Promise<{ name: string; bytes: Buffer }[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.map(async (name) => ({ name, bytes: await readFile(name).catch(() => Buffer.alloc(0)) })),
  );
};

/** Names of the files that contain a secret in any encoding, with the secret's label. */
export const findIn = async (
  folder: string,
  secrets: Readonly<Record<string, string | Buffer>>,
): Promise<string[]> => {
  const files = await contents(folder);
  if (files.length === 0) throw new Error('the folder is empty: nothing was searched');
  const found: string[] = [];
  for (const [label, secret] of Object.entries(secrets)) {
    for (const form of formsOf(secret)) {
      for (const { name, bytes } of files) if (bytes.includes(form)) found.push(`${label} in ${name}`);
    }
  }
  return found;
};

/** Labels of the secrets that a text contains in any encoding. */
export const findInText = (text: string, secrets: Readonly<Record<string, string | Buffer>>): string[] => {
  const bytes = Buffer.from(text);
  return Object.entries(secrets)
    .filter(([, secret]) => formsOf(secret).some((form) => bytes.includes(form)))
    .map(([label]) => label);
};

/** Length of the nonce in front of a page's keys. */
const NONCE = 12;
const KEY = 32;

/** The wrapped data key of a message's text, as the key store holds it now: its part of the key page. */
export const wrappedKeyOf = (folder: string, messageId: string): Buffer => {
  const slot = slotOf(`acme/${textKeyIn(folder, messageId)}`);
  const db = new DatabaseSync(join(folder, 'keys.db'), { readOnly: true });
  try {
    const row = db.prepare('SELECT wrapped FROM data_keys WHERE id = ?').get(`page:${slot?.page}`);
    if (slot === undefined || !(row?.wrapped instanceof Uint8Array)) throw new Error('the key is not there');
    const at = NONCE + slot.slot * KEY;
    return Buffer.from(row.wrapped.subarray(at, at + KEY));
  } finally {
    db.close();
  }
};

/** A person's wrapped data key, as the key store holds it now; undefined when destroyed or never stored. */
export const wrappedPersonKey = (folder: string, tenantId: string, userId: string): Buffer | undefined => {
  const db = new DatabaseSync(join(folder, 'keys.db'), { readOnly: true });
  try {
    const row = db.prepare('SELECT wrapped FROM data_keys WHERE id = ?').get(`${tenantId}/person-${userId}`);
    return row?.wrapped instanceof Uint8Array ? Buffer.from(row.wrapped) : undefined;
  } finally {
    db.close();
  }
};

const sentMessage = z.object({ message_id: z.string(), text_key: z.string() });

const textKeyIn = (folder: string, messageId: string): string => {
  for (const { data } of storedEvents(join(folder, 'events.db'))) {
    const sent = sentMessage.safeParse(JSON.parse(data));
    if (sent.success && sent.data.message_id === messageId) return sent.data.text_key;
  }
  throw new Error('the message is not there');
};
