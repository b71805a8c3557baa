import { createSecretKey, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import express from 'express';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import { SECRETS } from './tokens.ts';

/**
 * The route `POST …/messages` without event sourcing: Express, JWT, zod, and one fsynced SQLite transaction per
 * request. It adds the participant if needed, inserts the message and counts it as unread. No sealing, audit or
 * fan-out.
 */
const db = new DatabaseSync(join(process.env.DATA_DIR ?? '.', 'crud.db'));
db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL');
db.exec(`
  CREATE TABLE participants (conversation_id TEXT, user_id TEXT, unread INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation_id, user_id)) WITHOUT ROWID;
  CREATE TABLE messages (id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, sender_user_id TEXT NOT NULL,
    body TEXT NOT NULL, created_at TEXT NOT NULL);
  CREATE INDEX by_conversation ON messages (conversation_id, created_at)`);
const begin = db.prepare('BEGIN IMMEDIATE');
const commit = db.prepare('COMMIT');
const takePart = db.prepare('INSERT OR IGNORE INTO participants (conversation_id, user_id) VALUES (?, ?)');
const insert = db.prepare('INSERT INTO messages VALUES (?, ?, ?, ?, ?)');
const count = db.prepare(
  'UPDATE participants SET unread = unread + 1 WHERE conversation_id = ? AND user_id <> ?',
);

const key = createSecretKey(Buffer.from(SECRETS.TENANT_JWT_SECRET));
const claimsSchema = z.object({ sub: z.string(), tenant_id: z.string(), role: z.string() });
const bodySchema = z.object({ body: z.string().min(1).max(10_000) });

const app = express();
app.use(express.json());
app.get('/', (_request, response) => {
  response.json({});
});
app.post('/conversations/:id/messages', (request, response) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
  const claims = claimsSchema.parse(jwt.verify(token, key, { algorithms: ['HS256'] }));
  const parsed = bodySchema.safeParse(request.body);
  if (!parsed.success) {
    response.status(400).json({ error: 'validation_failed' });
    return;
  }
  const message = {
    id: randomUUID(),
    sender_user_id: claims.sub,
    body: parsed.data.body,
    created_at: new Date().toISOString(),
  };
  begin.run();
  takePart.run(request.params.id, claims.sub);
  insert.run(message.id, request.params.id, claims.sub, message.body, message.created_at);
  count.run(request.params.id, claims.sub);
  commit.run();
  response.status(201).json(message);
});
app.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
