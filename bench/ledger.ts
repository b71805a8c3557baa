import type { Child } from './http/child.ts';
import { Connection, closedLoop, requestBytes } from './http/load.ts';
import { BODY, conversationsPath, inFolder, messagesPath, startPlatformChild } from './http/platform.ts';
import { tenantToken } from './http/tokens.ts';
import { ids } from './logs.ts';
import { type Line, milliseconds, perSecond } from './report.ts';
import { alternate, alternateCases, scaled } from './rounds.ts';
import {
  contextOf,
  createTenant,
  makeMany,
  readModelCaughtUp,
  type UseCases,
  withUseCases,
} from './use-cases.ts';

const LARGE = 1_000_000;
const SMALL = 10_000;
const SAME = 1.3;
const ACCOUNTS = 20;
const DAYS = 60;
/** Lines per entry. */
const LINES = 100;

const CALLERS = 50;
const ROUNDS = 3;
const OF_MESSAGES = 0.5;

const GL = '/api/v1/tenant/gl';
const REPORTS = [
  'trial-balance?from=2026-02-10&to=2026-02-20',
  'pnl?from=2026-01-10&to=2026-02-20',
  'balance-sheet?as_of=2026-02-20',
].map((path) => `/api/v1/tenant/reports/${path}`);

/**
 * Compares reports over a million ledger lines with reports over ten thousand, with the same accounts and days. Also
 * compares postings of 50 concurrent callers to the same two accounts with messages of 50 callers.
 */
export const benchLedger = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const many = scaled(LARGE, scale, 2 * SMALL);
    await makeLedger(folder, { large: many, small: SMALL, posting: 0 });
    const platform = await startPlatformChild(folder);
    try {
      return [await timeReports(platform, many, scale), await ratePostings(platform, scale)];
    } finally {
      await platform.stop();
    }
  });

const timeReports = async ({ port }: Child, many: number, scale: number): Promise<Line> => {
  const connection = await Connection.open(port);
  try {
    const { large: value, small: yardstick } = await alternateCases(scaled(200, scale, 40), async (kind) => {
      const token = tenantToken(kind, 'ann');
      for (const path of REPORTS) await connection.ask(requestBytes('GET', path, { token }));
    });
    return {
      figure: `a report over ${many.toLocaleString('en')} lines`,
      value: milliseconds(value / REPORTS.length),
      yardstick: {
        name: `the same over ${SMALL.toLocaleString('en')}`,
        value: milliseconds(yardstick / REPORTS.length),
      },
      target: { text: `≤ ${SAME}`, met: value / yardstick <= SAME },
    };
  } finally {
    connection.close();
  }
};

const ratePostings = async ({ port }: Child, scale: number): Promise<Line> => {
  const each = scaled(300, scale, 4);
  const connections = await Promise.all(Array.from({ length: CALLERS }, () => Connection.open(port)));
  const tokens = Array.from({ length: CALLERS }, (_, nth) => tenantToken('posting', `user-${nth}`));
  const [opener] = connections;
  if (opener === undefined) throw new Error('no connection');
  const messages: Buffer[][] = [];
  for (const token of tokens) await opener.ask(requestBytes('GET', conversationsPath, { token }));
  for (let nth = 0; nth < CALLERS; nth += 2) {
    const people = { participant_user_ids: [`user-${nth}`, `user-${nth + 1}`] };
    const token = tokens[nth] ?? '';
    const started = await opener.ask(requestBytes('POST', conversationsPath, { token, body: people }), 201);
    const path = messagesPath(JSON.parse(started).id);
    for (const own of tokens.slice(nth, nth + 2)) {
      messages.push([requestBytes('POST', path, { token: own, body: BODY })]);
    }
  }
  const body = {
    date: '2026-03-15',
    memo: 'A usual sale',
    lines: [
      { account_code: 'A0', debit: 100 },
      { account_code: 'A1', credit: 100 },
    ],
  };
  /** Each caller posts its own drafts; drafting is not measured. */
  const post = async (count: number): Promise<number> => {
    const prepared = await Promise.all(
      connections.map(async (connection, nth) => {
        const token = tokens[nth] ?? '';
        const posts: Buffer[] = [];
        for (let made = 0; made < count; made += 1) {
          const draft = await connection.ask(requestBytes('POST', `${GL}/entries`, { token, body }), 201);
          posts.push(requestBytes('POST', `${GL}/entries/${JSON.parse(draft).id}/post`, { token }));
        }
        return posts;
      }),
    );
    const began = performance.now();
    await Promise.all(
      prepared.map(async (posts, nth) => {
        const connection = connections[nth];
        for (const request of posts) await connection?.ask(request);
      }),
    );
    return ((count * CALLERS) / (performance.now() - began)) * 1000;
  };
  const send = (seconds: number) => closedLoop({ port, requests: messages, seconds, expectedStatus: 201 });
  try {
    const seconds = Math.max(0.3, 3 * scale);
    await alternate(1, { postings: () => post(each), messages: () => send(seconds) });
    const rates = await alternate(ROUNDS, { postings: () => post(each), messages: () => send(seconds) });
    return {
      figure: `POST …/post, ${CALLERS} callers, the same accounts`,
      value: perSecond(rates.postings),
      yardstick: { name: `POST message, ${CALLERS} callers`, value: perSecond(rates.messages) },
      target: { text: `≥ ${OF_MESSAGES}`, met: rates.postings / rates.messages >= OF_MESSAGES },
    };
  } finally {
    for (const connection of connections) connection.close();
  }
};

const AT_ONCE = 100;

/** Creates entries through the use cases, without HTTP: streams and read models are the real ones. */
const makeLedger = (dataDir: string, tenants: Readonly<Record<string, number>>): Promise<void> =>
  withUseCases(dataDir, async (useCases) => {
    for (const [id, lines] of Object.entries(tenants)) {
      await openAccounts(useCases, id);
      await makeMany(
        Math.ceil(lines / LINES),
        AT_ONCE,
        (nth) => record(useCases, id, nth),
        (made) => readModelCaughtUp(useCases, id, 'ledger', made.at(-1)?.position),
      );
    }
  });

const openAccounts = async (useCases: UseCases, id: string): Promise<void> => {
  await createTenant(useCases, id, { entitlements: { ledger: true, assistant: false } });
  await useCases.authentication.authenticate(tenantToken(id, 'ann'), 'tenant');
  for (let nth = 0; nth < ACCOUNTS; nth += 1) {
    const type = nth % 2 === 0 ? 'Asset' : 'Revenue';
    await useCases.chart.openAccount(
      id,
      { code: `A${nth}`, name: `Account ${nth}`, type, active: true },
      contextOf('ann'),
    );
  }
};

const record = (useCases: UseCases, tenantId: string, nth: number) => {
  const date = new Date(Date.UTC(2026, 0, 1 + (nth % DAYS))).toISOString().slice(0, 10);
  const lines = Array.from({ length: LINES / 2 }, (_, at) => [
    { account_code: `A${at % ACCOUNTS}`, debit: 100 + at, credit: 0 },
    { account_code: `A${ACCOUNTS - 1 - (at % ACCOUNTS)}`, debit: 0, credit: 100 + at },
  ]).flat();
  const content = { date, memo: '', currency: 'EUR', lines };
  const entry = { id: ids.next(), source: { kind: 'bench' }, content };
  return useCases.posting.postOnce(tenantId, entry, contextOf('ann'));
};
