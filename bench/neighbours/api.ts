import { Pool } from 'undici';
import { type ZodType, z } from 'zod';

/** A JSON answer with its time in ms. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
}

const TENANT_PATHS = '/api/v1/tenant';

/** A client of the server under test; each request has the token of its caller. */
export class Api {
  readonly #pool: Pool;

  constructor(port: number, connections = 64, localAddress = '127.0.0.1') {
    // Long timeouts, since an attacked server may be slow, which the bench measures.
    const timeouts = { headersTimeout: 120_000, bodyTimeout: 120_000 };
    this.#pool = new Pool(`http://127.0.0.1:${port}`, { connections, localAddress, ...timeouts });
  }

  /** @param path absolute, or, without a slash at its start, relative to the tenant's paths */
  async call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    path: string,
    token?: string,
    body?: unknown,
  ): Promise<Answer> {
    const began = performance.now();
    const { statusCode, body: answer } = await this.#pool.request({
      method,
      path: path.startsWith('/') ? path : `${TENANT_PATHS}/${path}`,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: statusCode, text, ms: performance.now() - began };
  }

  /** @throws unless the request succeeds */
  async must(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    path: string,
    token?: string,
    body?: unknown,
  ): Promise<string> {
    const { status, text } = await this.call(method, path, token, body);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
    return text;
  }

  /** Posts and returns the id of the new resource. */
  async make(path: string, token: string, body: unknown): Promise<string> {
    return withId.parse(JSON.parse(await this.must('POST', path, token, body))).id;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

const withId = z.object({ id: z.string() });

/** Entitlements of the bench's tenants. */
export const ENTITLED = { ledger: true, assistant: true };

/** Opens the accounts that the posting rules use. */
export const openAccounts = async (api: Api, token: string): Promise<void> => {
  await api.must('POST', 'gl/accounts', token, { code: '1200', name: 'Receivables', type: 'Asset' });
  await api.must('POST', 'gl/accounts', token, { code: '4000', name: 'Sales', type: 'Revenue' });
};

export const parsed = <T>(schema: ZodType<T>, text: string): T => schema.parse(JSON.parse(text));

/** Runs `make` for each number below `count`, with at most `together` at a time. */
export const repeat = async (
  count: number,
  together: number,
  make: (nth: number) => Promise<unknown>,
): Promise<void> => {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await make(next++);
  };
  await Promise.all(Array.from({ length: Math.min(together, count) }, worker));
};
