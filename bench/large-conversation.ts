import { Connection, requestBytes } from './http/load.ts';
import { conversationsPath, inFolder, messagesPath, startPlatformChild, TENANT } from './http/platform.ts';
import { tenantToken } from './http/tokens.ts';
import { type Line, milliseconds } from './report.ts';
import { median, scaled } from './rounds.ts';
import { contextOf, createTenant, makeMany, NONE, withUseCases } from './use-cases.ts';

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
 * Compares a conversation of 100,000 messages with a conversation of 100: the list with its unread count, and the
 * first command after a restart. Other conversations are used first, so that neither side includes warm-up.
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
          // The kinds alternate, and each begins equally often.
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
  await connection.ask(request, status);
  return performance.now() - began;
};

const AT_ONCE = 500;

/** Creates conversations through the use cases, without HTTP: snapshots, keys and read models are the real ones. */
const makeConversations = (dataDir: string, name: string, count: number, messages: number): Promise<Kept[]> =>
  withUseCases(dataDir, async (useCases) => {
    if ((await useCases.directory.tenant(TENANT)) === undefined)
      await createTenant(useCases, TENANT, { entitlements: NONE });
    return makeMany(count, 1, async (nth) => {
      const users = [`${name}-${nth}a`, `${name}-${nth}b`] as const;
      for (const user of users)
        await useCases.authentication.authenticate(tenantToken(TENANT, user), 'tenant');
      const { conversation } = await useCases.messaging.start(TENANT, users[0], users, contextOf(users[0]));
      await makeMany(messages, AT_ONCE, (sent) =>
        useCases.messaging.send(TENANT, conversation.id, users[1], `Message ${sent}`, contextOf(users[1])),
      );
      return { id: conversation.id, token: tenantToken(TENANT, users[0]) };
    });
  });
