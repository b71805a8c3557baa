import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Searching of a data folder's raw bytes. */

const base64Forms = (bytes: Buffer): string[] =>
  [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replaceAll('=', '');
    // The first and last characters depend on their neighbours.
    return text.slice(shift === 0 ? 0 : 4, -3);
  });

/** The ways in which somebody could find a text or key again without any secret. */
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

/** Names of the files that hold any of the secrets in any form, with the secret's label. */
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

/** Labels of the secrets that a text holds in any form. */
export const findInText = (text: string, secrets: Readonly<Record<string, string | Buffer>>): string[] => {
  const bytes = Buffer.from(text);
  return Object.entries(secrets)
    .filter(([, secret]) => formsOf(secret).some((form) => bytes.includes(form)))
    .map(([label]) => label);
};

/** The wrapped data keys whose id ends so, as the key store holds them now. */
export const wrappedKeys = (folder: string, idEnd: string): Buffer[] => {
  const db = new DatabaseSync(join(folder, 'keys.db'), { readOnly: true });
  try {
    const rows = db.prepare('SELECT wrapped FROM data_keys WHERE id LIKE ?').all(`%${idEnd}`);
    return rows.flatMap(({ wrapped }) => (wrapped instanceof Uint8Array ? [Buffer.from(wrapped)] : []));
  } finally {
    db.close();
  }
};
