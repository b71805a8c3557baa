import { createHash } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { admin, type Ended } from '../../support/admin-cli.ts';
import { writeAsTexts } from '../../support/event-rows.ts';
import { newEntity, newRecord } from '../../support/records.ts';
import { KEYS, newDataFolder } from '../../support/server.ts';
import { deletedMessage, type Message } from '../../support/shapes.ts';
import { type File, uploaded } from '../../support/uploads.ts';
import { BASE, type Member, say, type TestTenant, talk, token, type World } from '../../support/world.ts';
import { forgotten, known, mark, PASSWORD } from '../erasure/support.ts';

export { mark, PASSWORD };

/** A tenant with messages, a record, a file and erased texts. */
export interface Filled {
  readonly tenant: TestTenant;
  readonly ada: Member;
  readonly ben: Member;
  readonly chat: string;
  readonly sent: readonly Message[];
  readonly file: File;
  readonly content: string;
  /** Id of the forgotten person. */
  readonly gone: string;
  /** Wrapped data key of the forgotten person before the erasure. Known only with an embedded key store. */
  readonly goneKey: Buffer;
}

export const filled = async (world: World): Promise<Filled> => {
  const tenant = await world.tenant();
  const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
  const chat = await talk(ada, ben);
  const sent: Message[] = [];
  for (let nth = 0; nth < 5; nth += 1) sent.push(await say(ada, chat, `Message ${nth} for ${token(ben)}`));
  const out = await say(ada, chat, 'taken back');
  (await ada.api.delete(`${BASE}/${chat}/messages/${out.id}`)).as(deletedMessage);
  const record = await newRecord(tenant, await newEntity(tenant));
  const content = mark('content');
  const file = await uploaded(tenant.admin.api, record, content);
  const person = await known(world, tenant);
  const goneKey = Buffer.from(person.traces.key ?? '');
  await forgotten(tenant.admin, person);
  return { tenant, ada, ben, chat, sent, file, content, gone: person.id, goneKey };
};

export const envOf = (dataDir: string): Record<string, string> => ({ ...KEYS, DATA_DIR: dataDir });

const WITHIN_MS = 120_000;

export const command = (dataDir: string, ...args: readonly string[]): Promise<Ended> =>
  admin(args, envOf(dataDir), '', WITHIN_MS);

export const verify = (dataDir: string, ...more: readonly string[]): Promise<Ended> =>
  command(dataDir, 'verify-data', ...more);

/** Copies the data folder of a stopped server, to be damaged. */
export const copyOf = async (dataDir: string): Promise<string> => {
  const folder = await newDataFolder();
  await cp(dataDir, folder, { recursive: true });
  return folder;
};

/** The part of an event that {@link chained} needs. */
export interface Row {
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

/** The metadata with a matching hash, as an attacker who knows the format would write it. */
export const chained = ({ stream, revision, id, type, data, metadata }: Row): string => {
  const previous = /"prev_hash":"([0-9a-f]{64})"/.exec(metadata)?.[1] ?? '';
  const rest = metadata.replace(/"hash":"[0-9a-f]{64}",/, '');
  const lines = [previous, stream, String(revision), id, type, data, rest];
  const hash = createHash('sha256').update(lines.join('\n')).digest('hex');
  return metadata.replace(/"hash":"[0-9a-f]{64}"/, `"hash":"${hash}"`);
};

/** Changes a database directly. In the log's database, unpacks the packed events to texts before `work`. */
export const spoil = <T>(dataDir: string, file: string, work: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(join(dataDir, file));
  try {
    if (file === 'events.db') writeAsTexts(db);
    return work(db);
  } finally {
    // Leaves one file without a write-ahead log, since tests search its bytes.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
  }
};

/** The table of a collection in the active generation. */
export const tableOf = (db: DatabaseSync, projection: string, collection: string): string => {
  const row = db
    .prepare(
      `SELECT number FROM collections JOIN active_generations USING (projection)
       WHERE tag = active AND projection = ? AND collection = ?`,
    )
    .get(projection, collection);
  if (row === undefined) throw new Error(`no collection ${collection}`);
  return `d${String(row.number)}`;
};
