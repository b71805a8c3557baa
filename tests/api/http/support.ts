import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { createHttpApp } from '../../../api/http/app.ts';
import type { Authenticate } from '../../../api/http/authorization.ts';
import type { HttpDeps } from '../../../api/http/deps.ts';
import { ExpensiveRequests } from '../../../api/http/expensive-requests.ts';
import { type AnswerCodec, fingerprints } from '../../../api/http/idempotency.ts';
import { createMetrics } from '../../../api/http/metrics.ts';
import { createRateLimits } from '../../../api/http/rate-limits.ts';
import type { Route } from '../../../api/http/route.ts';
import { createHttpServer } from '../../../api/http/server.ts';
import {
  familyOf,
  type Principal,
  type UserPrincipal,
} from '../../../application/core/commands/principal.ts';
import type { Position } from '../../../application/ports/event-store.ts';
import type {
  IdempotencyStore,
  KeyUse,
  StoredAnswer,
  StoredUse,
} from '../../../application/ports/idempotency-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import { DomainError } from '../../../domain/core/errors.ts';

/** Stores bodies unchanged. */
const plainAnswerCodec: AnswerCodec = {
  store: (body) => JSON.stringify(body),
  restore: (text): unknown => JSON.parse(text),
};

export const admin: UserPrincipal = {
  kind: 'user',
  tenantId: 'acme',
  rights: { plan: 'enterprise', entitlements: { ledger: true, assistant: true } },
  userId: 'u1',
  email: 'a@acme.test',
  role: 'admin',
};

const PRINCIPALS: Readonly<Record<string, Principal>> = {
  admin,
  operator: { ...admin, userId: 'u2', email: 'o@acme.test', role: 'operator' },
  other: { ...admin, tenantId: 'globex' },
  platform: { kind: 'platform_admin', adminId: 'p1', email: 'p@platform.test' },
};

/** Tokens are the names above; `late` has expired, `slow-…` is looked up asynchronously. */
export const authenticate: Authenticate = (token, family) => {
  if (token === undefined) throw new DomainError('unauthenticated', 'A credential is required.');
  if (token === 'late') throw new DomainError('credential_expired', 'The credential has expired.');
  const principal = PRINCIPALS[token.replace('slow-', '')];
  if (principal === undefined || familyOf(principal.kind) !== family) {
    throw new DomainError('invalid_credential', 'The credential is not valid.');
  }
  return token.startsWith('slow-') ? Promise.resolve(principal) : principal;
};

export class MemoryIdempotency implements IdempotencyStore {
  readonly answers = new Map<string, StoredAnswer>();
  readonly begun = new Map<string, KeyUse>();
  async get(scope: string, key: string): Promise<StoredAnswer | undefined> {
    return this.answers.get(`${scope} ${key}`);
  }
  async begin(scope: string, key: string, use: KeyUse): Promise<{ first: boolean; use: KeyUse }> {
    const begun = this.begun.get(`${scope} ${key}`);
    if (begun === undefined) this.begun.set(`${scope} ${key}`, use);
    return { first: begun === undefined, use: begun ?? use };
  }
  async put(scope: string, key: string, answer: StoredAnswer): Promise<void> {
    if (!this.answers.has(`${scope} ${key}`)) this.answers.set(`${scope} ${key}`, answer);
  }
  async release(scope: string, key: string, nonce: string): Promise<void> {
    if (this.begun.get(`${scope} ${key}`)?.nonce === nonce) this.begun.delete(`${scope} ${key}`);
  }
  async *list(): AsyncGenerator<StoredUse> {}
  async sweep(): Promise<void> {}
  async close(): Promise<void> {}
}

export interface LogLine {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

export const recordingLogger = (lines: LogLine[]): Logger => {
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields, message });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
};

const isPosition = (text: string): text is Position => /^p[0-9]+$/.test(text);

export const parsePosition = (text: string): Position | undefined => (isPosition(text) ? text : undefined);

let made = 0;

export const testDeps = (routes: readonly Route[], own: Partial<HttpDeps> = {}): HttpDeps => {
  const clock = { now: () => Date.now() };
  return {
    routes,
    authenticate,
    freshRights: async () => undefined,
    build: { version: '0.0.0' },
    readiness: async () => ({ checks: { store: 'ok' }, serves: true }),
    waitForReads: () => undefined,
    answered: () => undefined,
    logPosition: () => undefined,
    parsePosition,
    idempotency: new MemoryIdempotency(),
    answerCodec: plainAnswerCodec,
    fingerprint: fingerprints('the-master-key-of-these-tests-0123456789'),
    clock,
    ids: {
      next: () => {
        made += 1;
        return `made-${made}`;
      },
    },
    limits: createRateLimits({ requestsPerMinute: 0, loginsPerMinute: 0 }, clock),
    expensive: new ExpensiveRequests(),
    metrics: createMetrics({ process: false }),
    logger: recordingLogger([]),
    appendLine: async () => undefined,
    ...own,
  };
};

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; an empty object when there is no body or it is not JSON. */
  readonly json: Record<string, unknown>;
}

export interface TestServer {
  readonly origin: string;
  readonly port: number;
  request(method: string, path: string, options?: TestRequest): Promise<Answer>;
  /** Sends the bytes and returns all that arrives until the connection ends. */
  raw(bytes: string | Buffer): Promise<string>;
  close(): Promise<void>;
}

export interface TestRequest {
  readonly as?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const parseJson = (text: string, type: string | null): Record<string, unknown> => {
  if (!type?.startsWith('application/json')) return {};
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? value : {};
};

const bodyOf = (body: unknown): string | Buffer => {
  if (typeof body === 'string') return body;
  return Buffer.isBuffer(body) ? body : JSON.stringify(body);
};

/** Serves the application over real HTTP on an ephemeral loopback port. */
export const serve = async (routes: readonly Route[], own: Partial<HttpDeps> = {}): Promise<TestServer> => {
  const deps = testDeps(routes, own);
  const server = createHttpServer(createHttpApp(deps), deps.ids);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = isAddress(address) ? address.port : 0;
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    port,
    request: async (method, path, { as, body, headers } = {}) => {
      const response = await fetch(`${origin}${path}`, {
        method,
        headers: {
          ...(as === undefined ? {} : { Authorization: `Bearer ${as}` }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: bodyOf(body) }),
      });
      const text = await response.text();
      const json = parseJson(text || '{}', response.headers.get('content-type'));
      return { status: response.status, headers: response.headers, text, json };
    },
    raw: (bytes) =>
      new Promise((resolve, reject) => {
        const chunks: Buffer[] = [];
        const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
        socket.on('data', (chunk) => chunks.push(chunk));
        socket.on('error', (error) => (chunks.length > 0 ? undefined : reject(error)));
        socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
        socket.setTimeout(3_000, () => socket.destroy());
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const isAddress = (address: AddressInfo | string | null): address is AddressInfo =>
  typeof address === 'object' && address !== null;
