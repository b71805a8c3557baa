import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import type { JsonObject } from '../application/ports/read-store.ts';
import { EventRows, TEXT_COLUMNS } from '../infrastructure/event-store/sqlite/event-rows.ts';
import { entriesOf, type IndexPlan, planIndex, singleKey } from '../infrastructure/read-store/index-keys.ts';
import { PRAGMAS } from '../infrastructure/read-store/sqlite/schema.ts';
import { createSql, upsertSql } from '../infrastructure/read-store/sqlite/tables.ts';
import { conversationsProjection } from '../projections/messaging/conversations.ts';
import { TENANT } from './logs.ts';

const BATCH = 1000;

interface Conversation {
  value: JsonObject;
  readonly unread: Map<string, number>;
  keys: readonly string[];
}

interface Row {
  readonly position: number;
  readonly revision: number;
  readonly type: string;
  readonly stream: string;
  readonly id: SQLOutputValue;
  readonly data: SQLOutputValue;
  readonly metadata: SQLOutputValue;
}

type Texts = Pick<Row, 'position' | 'revision' | 'type'> & {
  readonly data: string;
  readonly metadata: string;
};

/**
 * The yardstick of a rebuild: reads, unpacks and parses the log row by row, and upserts the same documents into the
 * same tables with the same indexes, a thousand events per transaction. No ports, checks or checkpoints.
 * @returns seconds
 */
export const rawRebuild = (log: string, path: string): number => {
  const source = new DatabaseSync(log, { readOnly: true });
  const db = new DatabaseSync(path);
  for (const pragma of PRAGMAS) db.exec(`PRAGMA ${pragma}`);
  const shapes = conversationsProjection.collections.map(({ indexes }, at) => ({
    number: at + 1,
    indexes: indexes.map(planIndex),
  }));
  for (const shape of shapes) db.exec(createSql(shape));
  const [chats, messages] = shapes;
  const [chatPlan, messagePlan] = [chats?.indexes[0], messages?.indexes[0]];
  if (!chats || !messages || !chatPlan || !messagePlan) throw new Error('the projection has changed');
  const upsertChat = db.prepare(upsertSql(chats));
  const upsertMessage = db.prepare(upsertSql(messages));
  const remove = db.prepare(`DELETE FROM e${chats.number}_0 WHERE tenant = ? AND key = ?`);
  const insert = db.prepare(`INSERT INTO e${chats.number}_0 (tenant, key, id) VALUES (?, ?, ?)`);
  const began = performance.now();
  const known = new Map<string, Conversation>();
  const dirty = new Set<string>();
  const page = source.prepare(`
    SELECT position, revision, t.name AS type, s.name AS stream, ${TEXT_COLUMNS} FROM events e
    JOIN types t ON t.id = e.type_id JOIN streams s ON s.id = e.stream_id
    WHERE position > ? ORDER BY position LIMIT ${BATCH}`);
  const events = new EventRows(source);
  for (let after = 0; ; ) {
    const rows = page.all(after) as unknown as Row[];
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.position;
    db.exec('BEGIN IMMEDIATE');
    for (const row of rows) {
      const { data, metadata } = events.texts(row.stream, row.id, row.data, row.metadata);
      fold({ ...row, data, metadata }, known, dirty, upsertMessage, messagePlan);
    }
    for (const id of dirty) {
      const chat = known.get(id);
      if (chat === undefined) continue;
      const { heads, tail } = entriesOf(chatPlan, chat.value, id);
      const keys = heads.map((head) => head + tail);
      upsertChat.run(TENANT, id, positionOf(after), JSON.stringify(chat.value), JSON.stringify(keys));
      for (const key of chat.keys) remove.run(TENANT, key);
      for (const key of keys) insert.run(TENANT, key, id);
      chat.keys = keys;
    }
    dirty.clear();
    db.exec('COMMIT');
  }
  const seconds = (performance.now() - began) / 1000;
  db.close();
  source.close();
  return seconds;
};

const positionOf = (offset: number): string => offset.toString(16).padStart(16, '0');

const fold = (
  row: Texts,
  known: Map<string, Conversation>,
  dirty: Set<string>,
  upsertMessage: StatementSync,
  plan: IndexPlan,
): void => {
  const data = JSON.parse(row.data);
  const { occurred_at: at } = JSON.parse(row.metadata);
  const id = String(data.conversation_id);
  dirty.add(id);
  if (row.type === 'ConversationStarted') {
    const unread = new Map<string, number>(data.participant_user_ids.map((user: string) => [user, 0]));
    const value = { id, dm_key: data.dm_key, created_at: at, last_message_at: null, active_at: at };
    known.set(id, { value: { ...value, participants: participants(unread) }, unread, keys: [] });
    return;
  }
  const message: JsonObject = {
    id: data.message_id,
    conversation_id: id,
    seq: row.revision,
    sender_user_id: data.sender_user_id,
    body: data.body,
    created_at: at,
  };
  const text = JSON.stringify(message);
  upsertMessage.run(
    TENANT,
    data.message_id,
    positionOf(row.position),
    text,
    singleKey(plan, message, data.message_id),
  );
  const chat = known.get(id);
  if (chat === undefined) return;
  for (const [user, count] of chat.unread) if (user !== data.sender_user_id) chat.unread.set(user, count + 1);
  chat.value = { ...chat.value, last_message_at: at, active_at: at, participants: participants(chat.unread) };
};

const participants = (unread: ReadonlyMap<string, number>): JsonObject[] =>
  [...unread].map(([user_id, count]) => ({ user_id, last_read_at: null, unread: count }));
