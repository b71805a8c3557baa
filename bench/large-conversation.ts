import { startPlatform } from '../api/platform.ts';
import { readConfig } from '../infrastructure/config.ts';
import { createLogger } from '../infrastructure/logger.ts';
import { Connection, requestBytes } from './http/load.ts';
import {
  conversationsPath,
  inFolder,
  messagesPath,
  platformEnvironment,
  startPlatformChild,
  TENANT,
} from './http/platform.ts';
import { tenantToken } from './http/tokens.ts';
import { causeOf, ids } from './logs.ts';
import { type Line, milliseconds } from './report.ts';
import { median, scaled } from './rounds.ts';
import { useCasesOf } from './use-cases.ts';

const LARGE = 100_000;
const SMALL = 100;
const OF_EACH = 3;
const WARM = 8;
const RESTARTS = 4;
const SAME = 1.2;
const FIRST = 3;

interface Kept {
  readonly id: string;
  readonly token: string;
}

/**
 * A conversation of 100,000 messages beside one of 100: the list with its unread count, and the first command after
 * a restart. Other conversations are used before both, so that neither pays for what is used the first time.
 */
export const benchLargeConversation = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const large = await makeConversations(folder, 'large', OF_EACH, scaled(LARGE, scale, SMALL));
    const small = await makeConversations(folder, 'small', OF_EACH, SMALL);
    const warm = await makeConversations(folder, 'warm', WARM, SMALL);
    const lists = { large: [] as number[], small: [] as number[] };
    const firsts = { large: [] as number[], small: [] as number[] };
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const platform = await startPlatformChild(folder);
      const connection = await Connection.open(platform.port);
      const ask = (request: Buffer, status: number): Promise<number> => timed(connection, request, status);
      try {
        for (const { token } of [...warm, ...large, ...small]) await ask(list(token), 200);
        for (const { id, token } of warm) await ask(post(id, token), 201);
        for (let nth = 0; nth < OF_EACH; nth += 1) {
          // In turns, and each kind first as often as the other.
          const kinds =
            (nth + restart) % 2 === 0 ? (['large', 'small'] as const) : (['small', 'large'] as const);
          for (const kind of kinds) {
            const kept = (kind === 'large' ? large : small)[nth];
            if (kept !== undefined) firsts[kind].push(await ask(post(kept.id, kept.token), 201));
          }
        }
        const rounds = scaled(300, scale, 20);
        for (let nth = 0; nth < rounds; nth += 1) {
          for (const [kind, those] of [
            ['large', large],
            ['small', small],
          ] as const) {
            const took = await ask(list(those[nth % OF_EACH]?.token ?? ''), 200);
            if (nth >= rounds / 4) lists[kind].push(took);
          }
        }
      } finally {
        connection.close();
        await platform.stop();
      }
    }
    const many = scaled(LARGE, scale, SMALL).toLocaleString('en');
    return [
      lineOf(`list and unread count, ${many} messages`, lists, SAME),
      lineOf(`first command after a restart, ${many}`, firsts, FIRST),
    ];
  });

const lineOf = (figure: string, times: { large: number[]; small: number[] }, most: number): Line => {
  const [value, yardstick] = [median(times.large), median(times.small)];
  return {
    figure,
    value: milliseconds(value),
    yardstick: { name: 'the same with 100 messages', value: milliseconds(yardstick) },
    target: { text: `≤ ${most}`, met: value / yardstick <= most },
  };
};

const list = (token: string): Buffer => requestBytes('GET', conversationsPath, { token });
const post = (id: string, token: string): Buffer =>
  requestBytes('POST', messagesPath(id), { token, body: { body: 'The first after a restart.' } });

const timed = async (connection: Connection, request: Buffer, status: number): Promise<number> => {
  const began = performance.now();
  const answer = await connection.request(request);
  const took = performance.now() - began;
  if (answer.status !== status) throw new Error(`answered ${answer.status}: ${answer.body.slice(0, 300)}`);
  return took;
};

const AT_ONCE = 500;

/** Made through the use cases without HTTP: snapshots, keys and read models come out as in life. */
const makeConversations = async (
  dataDir: string,
  name: string,
  count: number,
  messages: number,
): Promise<Kept[]> => {
  const config = readConfig(platformEnvironment(dataDir));
  const platform = await startPlatform({ config, logger: createLogger('error') });
  const useCases = useCasesOf(platform);
  const context = (userId: string) => ({
    cause: causeOf(userId),
    priorAttempt: undefined,
    newId: () => ids.next(),
  });
  try {
    if ((await useCases.directory.tenant(TENANT)) === undefined) {
      const entitlements = { ledger: false, assistant: false };
      const tenant = {
        id: TENANT,
        name: 'Bench',
        plan: 'enterprise',
        currency: 'EUR',
        timezone: 'UTC',
      } as const;
      await useCases.tenancy.create({ ...tenant, entitlements }, context('bench'));
    }
    const made: Kept[] = [];
    for (let nth = 0; nth < count; nth += 1) {
      const users = [`${name}-${nth}a`, `${name}-${nth}b`] as const;
      for (const user of users)
        await useCases.authentication.authenticate(tenantToken(TENANT, user), 'tenant');
      const { conversation } = await useCases.messaging.start(TENANT, users[0], users, context(users[0]));
      for (let sent = 0; sent < messages; sent += AT_ONCE) {
        const batch = Array.from(
          { length: Math.min(AT_ONCE, messages - sent) },
          (_, at) => `Message ${sent + at}`,
        );
        await Promise.all(
          batch.map((body) =>
            useCases.messaging.send(TENANT, conversation.id, users[1], body, context(users[1])),
          ),
        );
      }
      made.push({ id: conversation.id, token: tenantToken(TENANT, users[0]) });
    }
    return made;
  } finally {
    await platform.stop();
  }
};
