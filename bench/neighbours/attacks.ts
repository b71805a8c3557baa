import { setTimeout as delay } from 'node:timers/promises';
import { tenantToken } from '../http/tokens.ts';
import { Api, ENTITLED, openAccounts, repeat } from './api.ts';
import { ELSEWHERE } from './names.ts';
import { holdAnswers, holdReplays, readReplays } from './sockets.ts';

/** Attacks by a loud tenant with ten users under the default limits (docs/benchmarks.md, Neighbours). */

export const LOUD = 'loud';
const ACCOUNTS = 10;
const ENTITY = 'crate';
const RECORDS = 20_000;

export interface Attack {
  readonly name: string;
  /** Creates the data that the attack needs, without limits and before the measurement. */
  readonly prepare?: (loud: Loud) => Promise<void>;
  /** Attacks until the signal. Refusals are expected and not counted. */
  readonly run: (loud: Loud, signal: AbortSignal) => Promise<void>;
}

/** The attacker's side: a client and the tokens of the tenant's users. */
export class Loud {
  readonly api: Api;
  readonly port: number;
  readonly tenant: string;
  readonly tokens: readonly string[];

  constructor(port: number, tenant: string = LOUD) {
    this.port = port;
    this.tenant = tenant;
    this.api = new Api(port, 128, ELSEWHERE);
    this.tokens = Array.from({ length: ACCOUNTS }, (_, nth) => tenantToken(tenant, `loud-${nth}`, 'admin'));
  }

  get owner(): string {
    return this.tokens[0] ?? '';
  }

  /** Each user repeats `ask` in `together` loops until the signal. A loop pauses after a refusal. */
  async everyone(
    signal: AbortSignal,
    ask: (token: string, nth: number) => Promise<{ readonly status: number }>,
    together = 4,
    tokens = this.tokens,
  ): Promise<void> {
    let nth = 0;
    const one = async (token: string): Promise<void> => {
      while (!signal.aborted) {
        const { status } = await ask(token, nth++).catch(() => ({ status: 503 }));
        if (status === 429 || status === 503) await delay(250);
      }
    };
    await Promise.all(tokens.flatMap((token) => Array.from({ length: together }, () => one(token))));
  }
}

const fieldsOf = (count: number, label = 'A field with an ordinary label') =>
  Array.from({ length: count }, (_, nth) => ({
    key: `field_${nth}`,
    label: `${label} ${nth}`,
    type: 'text',
  }));

/** Creates the attacker's tenant, its people, an entity and its records, before all attacks. */
export const prepareLoud = async (loud: Loud, root: string): Promise<void> => {
  const { api, tenant, tokens, owner } = loud;
  await api.must('POST', '/super/tenants', root, {
    id: tenant,
    name: 'Loud',
    plan: 'enterprise',
    entitlements: ENTITLED,
  });
  for (const token of tokens) await api.must('GET', 'me', token);
  await openAccounts(api, owner);
  const fields = [
    { key: 'title', label: 'Title', type: 'text' },
    { key: 'amount', label: 'Amount', type: 'integer' },
  ];
  await api.must('POST', 'entities', owner, { name: ENTITY, label: 'Crate', fields });
  await repeat(RECORDS, 64, (nth) => addRecord(loud, nth));
};

const addRecord = ({ api, owner }: Loud, nth: number) =>
  api.must('POST', `entities/${ENTITY}/records`, owner, { values: { title: `Crate ${nth}`, amount: nth } });

const talk = ({ api, owner, tokens }: Loud): Promise<string> => {
  const people = tokens.map((_, nth) => `loud-${nth}`);
  return api.make('messaging/conversations', owner, { participant_user_ids: people });
};

const preview = (ids: readonly string[]) => ({
  entity_name: ENTITY,
  operation: 'edit',
  selection: { kind: 'ids', ids },
  op_params: { kind: 'edit', fields: [{ field_key: 'title', new_value: 'Changed' }] },
});

const mentionsOf = (count: number): string =>
  Array.from({ length: count }, (_, nth) => `@[P](user:person-${nth})`).join(' ');

const BIG_TEXT = 'A message of a length that nobody types by hand, but that is allowed. '.repeat(100);
const LINES = 500;

/**
 * Accounts of the chart: a multiple of 1,000, the lines of one entry, with room for two more accounts (docs/limits.md).
 */
const ACCOUNTS_OF_CHART = 4000;

const manyLines = {
  date: '2026-03-15',
  lines: Array.from({ length: LINES }, () => [
    { account_code: '1200', debit: 1, memo: 'A line of an ordinary length' },
    { account_code: '4000', credit: 1, memo: 'A line of an ordinary length' },
  ]).flat(),
};

const workflow = (name: string, texts: number, guardLabel = 'A guard') => ({
  name,
  initial: 's0',
  states: Array.from({ length: 100 }, (_, nth) => ({ key: `s${nth}`, label: 'x'.repeat(texts) })),
  transitions: Array.from({ length: 99 }, (_, nth) => ({
    event_name: `go_${nth}`,
    from: `s${nth}`,
    to: `s${nth + 1}`,
    guard: 'record.field_1 == "x" && record.field_2 != "y"',
    guard_label: guardLabel,
  })),
});

export const attacks: readonly Attack[] = [
  {
    name: 'replays that nobody reads',
    prepare: async (loud) => {
      const id = await talk(loud);
      await repeat(2000, 32, () =>
        loud.api.must('POST', `messaging/conversations/${id}/messages`, loud.owner, { body: BIG_TEXT }),
      );
    },
    run: (loud, signal) => holdReplays(loud.port, loud.tokens, 80, signal),
  },
  {
    name: 'previews of millions of ids',
    run: (loud, signal) => {
      const body = preview(Array.from({ length: 4_000_000 }, () => ''));
      const ask = (token: string) => loud.api.call('POST', 'bulk-ops/preview', token, body);
      return loud.everyone(signal, ask, 1, loud.tokens.slice(0, 2));
    },
  },
  {
    name: 'exports of long entries',
    prepare: ({ api, owner }) => repeat(150, 8, () => api.must('POST', 'gl/entries', owner, manyLines)),
    run: (loud, signal) =>
      loud.everyone(signal, (token, nth) => {
        const paths = ['gl/entries.csv', 'gl/journal.hledger', 'audit/events'];
        return loud.api.call('GET', paths[nth % paths.length] ?? '', token);
      }),
  },
  {
    name: 'mentions of many people',
    prepare: ({ api }) => repeat(150, 16, (nth) => api.must('GET', 'me', tenantToken(LOUD, `person-${nth}`))),
    run: async (loud, signal) => {
      const id = await talk(loud);
      const body = { body: mentionsOf(150) };
      await loud.everyone(
        signal,
        (token) => loud.api.call('POST', `messaging/conversations/${id}/messages`, token, body),
        1,
      );
    },
  },
  {
    name: 'posting rules with many lines',
    prepare: ({ api, owner }) =>
      repeat(200, 8, (nth) =>
        api.must('POST', 'gl/posting-rules', owner, {
          name: `rule ${nth}`,
          source_kind: 'entity.created',
          mode: 'post',
          when: 'payload.values.title.startsWith("Flood")',
          lines: Array.from({ length: 80 }, (_, line) => ({
            account_code: line % 2 === 0 ? '1200' : '4000',
            side: line % 2 === 0 ? 'debit' : 'credit',
            amount: { fixed: 1 },
          })),
        }),
      ),
    run: async (loud, signal) => {
      await repeat(110, 16, (nth) =>
        loud.api.call('POST', `entities/${ENTITY}/records`, loud.tokens[nth % ACCOUNTS] ?? '', {
          values: { title: `Flood ${nth}`, amount: nth },
        }),
      );
      await untilAborted(signal);
    },
  },
  {
    name: 'webhooks of hundreds of subscriptions',
    prepare: ({ api, owner, port }) =>
      repeat(600, 16, (nth) =>
        // No server listens on this port during the attack, so each call fails and is retried later.
        api.call('POST', 'webhooks', owner, {
          url: `http://127.0.0.1:${port}/hooks/${nth}`,
          events: ['entity.updated'],
        }),
      ),
    run: async (loud, signal) => {
      const made = await loud.api.make(`entities/${ENTITY}/records`, loud.owner, {
        values: { title: 'Hooked', amount: 0 },
      });
      await repeat(100, 8, (nth) =>
        loud.api.call('PATCH', `entities/${ENTITY}/records/${made}`, loud.tokens[nth % ACCOUNTS] ?? '', {
          values: { amount: nth + 1 },
        }),
      );
      await untilAborted(signal);
    },
  },
  {
    name: 'lists of large resources',
    prepare: async ({ api, owner }) => {
      await repeat(200, 8, (nth) => api.must('POST', 'workflows', owner, workflow(`large_${nth}`, 190)));
      await repeat(200, 8, (nth) => {
        const fields = fieldsOf(200, 'A label that is long for a label, but allowed');
        return api.must('POST', 'entities', owner, { name: `large_${nth}`, label: 'Large', fields });
      });
    },
    run: (loud, signal) =>
      loud.everyone(signal, (token, nth) =>
        loud.api.call('GET', `${nth % 2 === 0 ? 'workflows' : 'entities'}?limit=200`, token),
      ),
  },
  {
    name: 'answers that nobody reads',
    run: (loud, signal) => holdAnswers(loud.port, loud.tokens, signal),
  },
  {
    name: 'publishing a workflow of many entities',
    prepare: async ({ api, owner }) => {
      await api.must('POST', 'workflows', owner, workflow('shared', 20));
      await api.must('POST', 'workflows/shared/publish', owner);
      await repeat(400, 8, (nth) => {
        const fields = fieldsOf(200);
        return api.must('POST', 'entities', owner, {
          name: `user_${nth}`,
          label: 'User',
          fields,
          workflow: 'shared',
        });
      });
    },
    run: (loud, signal) =>
      loud.everyone(
        signal,
        async (token, nth) => {
          await loud.api.call('PUT', 'workflows/shared', token, workflow('shared', 20, `Guard ${nth}`));
          return loud.api.call('POST', 'workflows/shared/publish', token);
        },
        1,
      ),
  },
  {
    name: 'previews of many records',
    run: async (loud, signal) => {
      const ids = Array.from(
        { length: 100_000 },
        (_, nth) => `00000000-0000-4000-8000-${String(nth).padStart(12, '0')}`,
      );
      const body = preview(ids);
      await loud.everyone(signal, (token) => loud.api.call('POST', 'bulk-ops/preview', token, body), 2);
    },
  },
  {
    name: 'searches without an index',
    run: (loud, signal) => {
      const filter = encodeURIComponent('title.contains("no crate has this")');
      const path = `entities/${ENTITY}/records?filter=${filter}&sort=title`;
      return loud.everyone(signal, (token) => loud.api.call('GET', path, token));
    },
  },
  {
    name: 'requests of many API tokens',
    run: async (loud, signal) => {
      const tokens: string[] = [];
      for (let nth = 0; nth < 39; nth += 1) {
        const made = await loud.api.call('POST', 'api-tokens', loud.owner, {
          name: `t${nth}`,
          scopes: ['data:read'],
        });
        const secret = /"token":"([^"]+)"/.exec(made.text)?.[1];
        if (secret !== undefined) tokens.push(secret);
      }
      await loud.everyone(signal, (token) => loud.api.call('GET', 'entities?limit=50', token), 4, tokens);
    },
  },
  {
    name: 'replays over foreign events',
    run: (loud, signal) => readReplays(loud.port, loud.tokens, 110, signal),
  },
  {
    name: 'log-ins with wrong passwords',
    run: (loud, signal) =>
      loud.everyone(signal, (_, nth) =>
        loud.api.call('POST', '/auth/login', undefined, {
          email: `person-${nth}@loud.example`,
          password: 'a wrong password',
          tenant: LOUD,
        }),
      ),
  },
  {
    name: 'questions to the assistant',
    run: (loud, signal) =>
      loud.everyone(signal, (token, nth) =>
        loud.api.call('POST', 'ai/assistant/ask', token, {
          message: `What is crate ${nth} about? ${BIG_TEXT.slice(0, 2000)}`,
        }),
      ),
  },
  {
    name: 'reports over the largest chart',
    prepare: async ({ api, owner }) => {
      const codes = Array.from({ length: ACCOUNTS_OF_CHART }, (_, nth) => `A${nth}`);
      await repeat(codes.length, 32, (nth) =>
        api.must('POST', 'gl/accounts', owner, { code: codes[nth], name: `Account ${nth}`, type: 'Asset' }),
      );
      await repeat(codes.length / 1000, 4, (nth) =>
        api.must('POST', 'gl/entries', owner, {
          date: '2026-03-15',
          lines: codes.slice(nth * 1000, (nth + 1) * 1000).map((account_code, line) => ({
            account_code,
            ...(line % 2 === 0 ? { debit: 1 } : { credit: 1 }),
          })),
        }),
      );
    },
    run: (loud, signal) =>
      loud.everyone(
        signal,
        async (token, nth) => {
          // A report is computed again only after a change.
          const code = `A${nth % ACCOUNTS_OF_CHART}`;
          await loud.api.call('PATCH', `gl/accounts/${code}`, token, { name: `Changed ${nth}` });
          return loud.api.call('GET', 'reports/trial-balance', token);
        },
        2,
      ),
  },
  {
    name: 'filters of the greatest size',
    run: (loud, signal) => {
      const parts = Array.from({ length: 100 }, (_, nth) => `title.contains("x${nth}")`);
      const path = `entities/${ENTITY}/records?filter=${encodeURIComponent(parts.join(' || '))}&limit=200`;
      return loud.everyone(signal, (token) => loud.api.call('GET', path, token));
    },
  },
];

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
