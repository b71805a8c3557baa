import type { Db } from 'mongodb';
import type { IdempotencyStore, KeyUse } from '../../application/ports/idempotency-store.ts';
import { call, insertOnce, isRefusal, type Row, textIn } from '../mongodb/calls.ts';
import { type MongoOptions, openDurableDatabase } from '../mongodb/database.ts';
import { answerText, parseAnswer } from './answers.ts';

/**
 * Stored answers in MongoDB. Beginnings and answers are two collections, so that each is one insert under a unique
 * `_id` and the first insert wins on any server. TTL indexes delete expired documents of both if the server supports
 * them; `sweep` deletes them in any case.
 * @throws {StoreUnavailable}
 */
export async function openMongoIdempotencyStore(options: MongoOptions): Promise<IdempotencyStore> {
  const { db, close } = await openDurableDatabase(options);
  try {
    const collections = ['idempotency_begun', 'idempotency_answers'].map((name) => db.collection<Row>(name));
    for (const rows of collections) await call(() => createExpiry(db, rows.collectionName));
    return idempotencyStore(db, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function createExpiry(db: Db, name: string): Promise<void> {
  const key = { expires_at: 1 } as const;
  try {
    await db.collection(name).createIndex(key, { name: 'expiry', expireAfterSeconds: 0 });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await db.collection(name).createIndex(key, { name: 'expiry' });
  }
}

function idempotencyStore(db: Db, close: () => Promise<void>): IdempotencyStore {
  const begun = db.collection<Row>('idempotency_begun');
  const answers = db.collection<Row>('idempotency_answers');
  // A separator that neither a scope nor a header value contains.
  const idOf = (scope: string, key: string): string => `${scope}\n${key}`;
  return {
    get: (scope, key) =>
      call(async () => {
        const row = await answers.findOne({ _id: idOf(scope, key) });
        return row === null ? undefined : parseAnswer(textIn(row, 'answer'));
      }),
    begin: async (scope, key, use, expiresAt) => {
      // An insert that is repeated after a lost reply reports `first: false`, which only makes the caller more
      // careful.
      const _id = idOf(scope, key);
      const { fingerprint, nonce } = use;
      const row = { _id, fingerprint, nonce, expires_at: new Date(expiresAt) };
      for (;;) {
        if (await call(() => insertOnce(begun, row))) return { first: true, use };
        const found = await call(() => begun.findOne({ _id }));
        // Without a row, another caller has released the key meanwhile, and it can be begun.
        if (found !== null) return { first: false, use: useIn(found) };
      }
    },
    release: async (scope, key, nonce) => {
      // Removes the beginning; an answer is in the other collection and stays.
      await call(() => begun.deleteOne({ _id: idOf(scope, key), nonce }));
    },
    put: async (scope, key, answer, expiresAt) => {
      const row = { _id: idOf(scope, key), answer: answerText(answer), expires_at: new Date(expiresAt) };
      await call(() => insertOnce(answers, row));
    },
    list: async function* () {
      for await (const row of begun.find({})) yield { ...keptIn(row), use: useIn(row) };
      for await (const row of answers.find({})) {
        yield { ...keptIn(row), answer: parseAnswer(textIn(row, 'answer')) };
      }
    },
    sweep: (now) =>
      call(async () => {
        for (const rows of [begun, answers]) await rows.deleteMany({ expires_at: { $lte: new Date(now) } });
      }),
    close,
  };
}

const useIn = (row: Row): KeyUse => ({
  fingerprint: textIn(row, 'fingerprint'),
  nonce: textIn(row, 'nonce'),
});

const keptIn = ({ _id, expires_at }: Row) => {
  const [scope = '', key = ''] = _id.split('\n');
  if (!(expires_at instanceof Date)) throw new TypeError('a stored answer has no expiry');
  return { scope, key, expiresAt: expires_at.getTime() };
};
