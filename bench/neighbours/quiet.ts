import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { tenantToken } from '../http/tokens.ts';
import { percentile, until } from '../rounds.ts';
import { Api, ENTITLED, openAccounts, parsed } from './api.ts';
import { QUIET } from './names.ts';

/** The quiet tenant. It runs in its own process (`quiet-child.ts`). */

const ENTITY = 'parcel';
/** A posting rule posts an entry for each record of this entity, so that the balance shows how many were posted. */
const POSTED = 'receipt';
const PER_SECOND = 10;
const PROBE_MS = 1000;
const RECORDS = 500;
/** Maximum wait (ms) for open work at the end of a measurement. */
const SETTLE_MS = 60_000;

/** Latencies of the quiet tenant (ms). */
export interface Experience {
  /** p99 of each kind of request. */
  readonly requests: Readonly<Record<string, number>>;
  /** Maximum for each kind of background work; infinite if a result did not arrive. */
  readonly work: Readonly<Record<string, number>>;
  /** Answers other than 2xx. */
  readonly refused: number;
}

const token = (user: string): string => tenantToken(QUIET, user, 'admin');

/** Creates the data that the load needs, without limits and before the measurement. */
export const prepareQuiet = async (port: number, root: string): Promise<void> => {
  const api = new Api(port);
  const owner = token('owner');
  await api.must('POST', '/super/tenants', root, {
    id: QUIET,
    name: 'Quiet',
    plan: 'enterprise',
    entitlements: ENTITLED,
  });
  for (const user of ['owner', 'bea']) await api.must('GET', 'me', token(user));
  const fields = [
    { key: 'title', label: 'Title', type: 'text' },
    { key: 'amount', label: 'Amount', type: 'integer' },
  ];
  for (const name of [ENTITY, POSTED])
    await api.must('POST', 'entities', owner, { name, label: name, fields });
  for (let nth = 0; nth < RECORDS; nth += 1) {
    await api.must('POST', `entities/${ENTITY}/records`, owner, {
      values: { title: `Parcel ${nth}`, amount: nth },
    });
  }
  await openAccounts(api, owner);
  await api.must('POST', 'gl/posting-rules', owner, {
    name: 'receipts',
    source_kind: 'entity.created',
    when: `payload.entity_name == "${POSTED}"`,
    mode: 'post',
    lines: [
      { account_code: '1200', side: 'debit', amount: { path: 'values.amount' } },
      { account_code: '4000', side: 'credit', amount: { remainder: true } },
    ],
  });
  await api.close();
};

/** Runs the fixed load for some seconds. */
export const experience = async (port: number, seconds: number): Promise<Experience> => {
  const api = new Api(port);
  const owner = token('owner');
  const conversation = await api.make('messaging/conversations', owner, {
    participant_user_ids: ['owner', 'bea'],
  });
  const times = new Map<string, number[]>();
  let refused = 0;
  const timed = async (kind: string, ...request: Parameters<Api['call']>): Promise<void> => {
    const { status, ms } = await api.call(...request);
    if (status >= 300) refused += 1;
    times.set(kind, [...(times.get(kind) ?? []), ms]);
  };
  const webhooks = await receiveWebhooks(api, owner);
  const socket = await listen(port);
  const messages = `messaging/conversations/${conversation}/messages`;
  const kinds: Readonly<Record<string, (nth: number, caller: string) => Promise<void>>> = {
    message: (nth, caller) => timed('message', 'POST', messages, caller, { body: `Message ${nth}` }),
    conversations: (_, caller) => timed('conversations', 'GET', 'messaging/conversations', caller),
    record: (nth, caller) => {
      const body = { values: { title: `New ${nth}`, amount: nth } };
      return timed('record', 'POST', `entities/${ENTITY}/records`, caller, body);
    },
    filter: (nth, caller) => {
      const filter = encodeURIComponent(`amount == ${nth % RECORDS}`);
      return timed('filter', 'GET', `entities/${ENTITY}/records?filter=${filter}`, caller);
    },
    report: (_, caller) => timed('report', 'GET', 'reports/trial-balance', caller),
    health: () => timed('health', 'GET', '/health/live'),
  };
  const began = performance.now();
  const running: Promise<unknown>[] = [];
  // Two people alternate, so that each stays below the request limit.
  for (const [kind, ask] of Object.entries(kinds)) {
    const callers = kind === 'message' ? [owner, token('bea')] : [token(`${kind}-1`), token(`${kind}-2`)];
    const loop = async (): Promise<void> => {
      for (let nth = 0; nth < seconds * PER_SECOND; nth += 1) {
        await until(began + (nth * 1000) / PER_SECOND);
        running.push(ask(nth, callers[nth % 2] ?? owner));
      }
    };
    running.push(loop());
  }
  const work = { notification: 0, webhook: 0, rule: 0 };
  const slowest = (kind: keyof typeof work, ms: number): void => {
    work[kind] = Math.max(work[kind], ms);
  };
  const probes: Promise<void>[] = [];
  const receipts = await watchReceipts(api, token('reader'));
  for (let nth = 0; nth < seconds - 1; nth += 1) {
    await until(began + nth * PROBE_MS);
    const text = `Probe ${nth} ${performance.now()}`;
    const body = { body: `${text} @[Bea](user:bea)` };
    const sent = performance.now();
    probes.push(
      api
        .must('POST', messages, owner, body)
        .then(() => socket.notified(text))
        .then((at) => slowest('notification', at - sent)),
    );
    const title = `Receipt ${nth} ${performance.now()}`;
    probes.push(
      api
        .must('POST', `entities/${POSTED}/records`, owner, { values: { title, amount: 1 } })
        .then(async () => {
          await Promise.all([
            webhooks.arrived(title).then((at) => slowest('webhook', at - sent)),
            receipts.posted(nth).then((at) => slowest('rule', at - sent)),
          ]);
        }),
    );
  }
  await Promise.all(running);
  while (running.length > 0) await Promise.all(running.splice(0));
  await Promise.all(probes);
  await receipts.close();
  socket.close();
  webhooks.close();
  await api.must('PATCH', `webhooks/${webhooks.id}`, owner, { state: 'paused' });
  await api.close();
  const requests = Object.fromEntries([...times].map(([kind, ms]) => [kind, percentile(ms, 0.99)]));
  return { requests, work, refused };
};

/** Collects the texts that arrive, and resolves callers that wait for a text with a given part. */
class Arrivals {
  readonly #seen: { readonly text: string; readonly at: number }[] = [];
  readonly #waiting = new Map<string, (at: number) => void>();

  add(text: string): void {
    const at = performance.now();
    this.#seen.push({ text, at });
    for (const [wanted, resolve] of this.#waiting) {
      if (!text.includes(wanted)) continue;
      this.#waiting.delete(wanted);
      resolve(at);
    }
  }

  /** Time of the arrival; infinite if there is none within a minute. */
  of(wanted: string): Promise<number> {
    const found = this.#seen.find(({ text }) => text.includes(wanted));
    if (found !== undefined) return Promise.resolve(found.at);
    return new Promise((resolve) => {
      const timeout = setTimeout(() => resolve(Number.POSITIVE_INFINITY), SETTLE_MS);
      this.#waiting.set(wanted, (at) => {
        clearTimeout(timeout);
        resolve(at);
      });
    });
  }
}

const listen = async (port: number) => {
  const arrivals = new Arrivals();
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/ws`, {
    headers: { authorization: `Bearer ${token('bea')}` },
  });
  socket.on('message', (data) => {
    const text = String(data);
    if (text.includes('"notification"')) arrivals.add(text);
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return { notified: (text: string) => arrivals.of(text), close: () => socket.terminate() };
};

const receiveWebhooks = async (api: Api, owner: string) => {
  const arrivals = new Arrivals();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      arrivals.add(Buffer.concat(chunks).toString());
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const wanted = { url: `http://127.0.0.1:${port}/`, events: ['entity.created'] };
  const id = await api.make('webhooks', owner, wanted);
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { id, arrived: (text: string) => arrivals.of(text), close };
};

const balance = z.object({ accounts: z.array(z.object({ code: z.string(), debit: z.number() })) });

const POLL_MS = 200;

/** Polls the trial balance, which holds the sum of all receipts. */
const watchReceipts = async (api: Api, caller: string) => {
  const total = async (): Promise<number> => {
    const { accounts } = parsed(balance, await api.must('GET', 'reports/trial-balance', caller));
    return accounts.find(({ code }) => code === '1200')?.debit ?? 0;
  };
  const before = await total();
  /** Time at which the n-th receipt of this run was seen. */
  const seen: number[] = [];
  let closed = false;
  const poll = async (): Promise<void> => {
    while (!closed) {
      const posted = (await total()) - before;
      while (seen.length < posted) seen.push(performance.now());
      await until(performance.now() + POLL_MS);
    }
  };
  const polling = poll();
  /** Time of the n-th posting, counted from 0; infinite if it is not seen within a minute. */
  const posted = async (nth: number): Promise<number> => {
    const deadline = performance.now() + SETTLE_MS;
    while (seen[nth] === undefined && performance.now() < deadline)
      await until(performance.now() + POLL_MS / 4);
    return seen[nth] ?? Number.POSITIVE_INFINITY;
  };
  return {
    posted,
    close: (): Promise<void> => {
      closed = true;
      return polling;
    },
  };
};
