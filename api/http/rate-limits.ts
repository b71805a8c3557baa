import { callerKey, type Principal } from '../../application/core/commands/principal.ts';
import { evictOldest } from '../../application/core/memory/evict-oldest.ts';
import type { Clock } from '../../application/ports/clock.ts';
import { PREVIEW_ROW_BYTES, QUOTAS } from '../../domain/tenancy/quotas.ts';
import { PLANS, type Plan } from '../../domain/tenancy/tenant.ts';
import { networkOf } from './address.ts';
import { type ExceededLimit, rateLimited } from './errors.ts';

/**
 * Rate limits, which the processes of a node count together (decisions, section 3). Functions that count return
 * undefined if the request is allowed, otherwise the seconds to wait.
 */
export interface RateLimits {
  /** Counts a request of a credential. @param callerKey tenant and caller */
  request(callerKey: string): number | undefined;
  /** Counts a request of a tenant, whatever its credential. */
  ofTenant(tenantId: string, plan: Plan): number | undefined;
  /** `RateLimit` and `RateLimit-Policy` of a caller's next answer; empty without limits. */
  headersOf(principal: Principal): Readonly<Record<string, string>>;
  /** Counts a login from an address or its /48 (IPv6), before the body is read. */
  loginFrom(address: string): number | undefined;
  /** Counts a login with an e-mail (NFC, ignoring case) from the address's network and in total. */
  loginAs(email: string, address: string): number | undefined;
  /** Counts a request without a credential from an address or its /48, per operation, before the body is read. */
  publicFrom(address: string, operationId: string): number | undefined;
  /** Counts the bytes that a preview's rows will write; a tenant may use the bytes of an hour at once. */
  previewOf(tenantId: string, plan: Plan, rows: number): number | undefined;
}

/** Exchanges taken tokens with the other processes of a group. */
export interface SharedTakes {
  /** Reports that tokens were taken from the named bucket. */
  took(bucket: string, caller: string, tokens: number): void;
  onTaken(listener: (bucket: string, caller: string, tokens: number) => void): void;
}

/** Maximum of callers in memory; evicts the least recently seen. */
const MAX_CALLERS = 100_000;

/** Generic cell rate algorithm: a token bucket stored as one number per caller, the time at which it is full again. */
export class TokenBuckets {
  readonly #interval: number;
  readonly #depth: number;
  readonly #maxCallers: number;
  readonly #fullAt = new Map<string, number>();

  /**
   * @param perMinute tokens added per minute; 0 disables the limit
   * @param burst tokens of a full bucket
   */
  constructor(perMinute: number, burst: number, maxCallers = MAX_CALLERS) {
    this.#interval = perMinute > 0 ? 60_000 / perMinute : 0;
    this.#depth = this.#interval * Math.max(1, burst);
    this.#maxCallers = maxCallers;
  }

  get size(): number {
    return this.#fullAt.size;
  }

  get isOff(): boolean {
    return this.#interval === 0;
  }

  /** Counts tokens that another process has given out; a bucket never goes below 0 tokens. */
  debit(caller: string, tokens: number, now: number): void {
    if (this.isOff) return;
    const fullAt = Math.max(this.#fullAt.get(caller) ?? now, now) + tokens * this.#interval;
    this.#set(caller, Math.min(fullAt, now + this.#depth));
  }

  /** Takes tokens. @param now ms @returns undefined, or the seconds until so many tokens are available */
  take(caller: string, now: number, tokens = 1): number | undefined {
    if (this.isOff) return undefined;
    const known = this.#fullAt.get(caller);
    // A time beyond the depth means that the clock was set back: the bucket starts full, so no caller is blocked.
    const fullAt = known === undefined || known > now + this.#depth ? now : Math.max(known, now);
    const wait = fullAt + tokens * this.#interval - this.#depth - now;
    // Intervals are fractions: without a tolerance, rounding could lose a bucket's last token.
    if (wait > 0.001) return Math.max(1, Math.ceil(wait / 1_000));
    this.#set(caller, fullAt + tokens * this.#interval);
    return undefined;
  }

  #set(caller: string, fullAt: number): void {
    // Each take moves its caller to the end of the map.
    this.#fullAt.delete(caller);
    this.#fullAt.set(caller, fullAt);
    evictOldest(this.#fullAt, this.#maxCallers);
  }

  /** The bucket's size and the seconds that fill it, as a quota and its window; undefined without a limit. */
  get policy(): { readonly quota: number; readonly window: number } | undefined {
    if (this.#interval === 0) return undefined;
    return { quota: Math.round(this.#depth / this.#interval), window: Math.ceil(this.#depth / 1_000) };
  }

  /** Tokens of a caller, and the seconds until its bucket is full. */
  left(caller: string, now: number): { readonly tokens: number; readonly seconds: number } {
    const fullAt = this.#fullAt.get(caller) ?? now;
    const missing = fullAt > now + this.#depth ? 0 : Math.max(0, fullAt - now);
    const tokens = Math.floor((this.#depth - missing) / this.#interval + 0.001);
    return { tokens: Math.max(0, tokens), seconds: Math.ceil(missing / 1_000) };
  }
}

/** Public requests a minute, per address and operation (decisions, section 6, Form). */
const PUBLIC_PER_MINUTE = 30;

/** A site with IPv6 usually has a /48, so all addresses of a /48 count as one. */
const OF_ADDRESS = { ipv4: 32, ipv6: 48 };
/** Networks for logins with one e-mail: wrong passwords from one network do not block the owner in another. */
const OF_LOGIN = { ipv4: 24, ipv6: 48 };
/** Limit of logins with one e-mail from all networks, as a multiple of the limit per network. */
const NETWORKS_PER_EMAIL = 10;

/** Requests of a tenant, as a multiple of the limit of one credential (docs/limits.md). */
const CREDENTIALS_OF: Readonly<Record<Plan, number>> = {
  free: 10,
  hobby: 10,
  pro: 15,
  business: 20,
  enterprise: 30,
};

/** Buckets of all tenants, by plan. @param burst share of a minute's requests that may come at once */
const tenantBuckets = (requestsPerMinute: number, burst: number): Readonly<Record<Plan, TokenBuckets>> => {
  const bucketsOf = (plan: Plan): TokenBuckets => {
    const perMinute = requestsPerMinute * CREDENTIALS_OF[plan];
    return new TokenBuckets(perMinute, Math.ceil(perMinute * burst));
  };
  return {
    free: bucketsOf('free'),
    hobby: bucketsOf('hobby'),
    pro: bucketsOf('pro'),
    business: bucketsOf('business'),
    enterprise: bucketsOf('enterprise'),
  };
};

const KIB = 1024;
const KIB_OF_ROW = PREVIEW_ROW_BYTES / KIB;

/** Buckets of KiB that previews write, by plan; named apart from those of {@link tenantBuckets}. */
const previewBuckets = (): Readonly<Record<string, TokenBuckets>> =>
  Object.fromEntries(
    PLANS.map((plan) => {
      const kib = QUOTAS[plan].preview_rows / KIB;
      return [previewsOf(plan), new TokenBuckets(kib / 60, kib)];
    }),
  );
const previewsOf = (plan: Plan): string => `previews ${plan}`;

/** Share of a minute's requests that may come at once. */
const BURST = 1 / 5;

type Counted = readonly [limit: ExceededLimit, buckets: TokenBuckets, caller: string];

/** The headers of the IETF's draft "RateLimit header fields for HTTP". */
const limitHeaders = (counted: readonly Counted[], now: number): Readonly<Record<string, string>> => {
  const policies: string[] = [];
  const states: string[] = [];
  for (const [limit, buckets, caller] of counted) {
    const { policy } = buckets;
    if (policy === undefined) continue;
    const { tokens, seconds } = buckets.left(caller, now);
    policies.push(`"${limit}";q=${policy.quota};w=${policy.window}`);
    states.push(`"${limit}";r=${tokens};t=${seconds}`);
  }
  return policies.length === 0
    ? {}
    : { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') };
};

/** @param settings per minute; 0 disables a limit, `requestsPerMinute: 0` also the limit of public requests */
export const createRateLimits = (
  settings: { readonly requestsPerMinute: number; readonly loginsPerMinute: number },
  clock: Clock,
  shared?: SharedTakes,
): RateLimits => {
  const { requestsPerMinute, loginsPerMinute } = settings;
  const requests = new TokenBuckets(requestsPerMinute, Math.ceil(requestsPerMinute * BURST));
  const tenants = tenantBuckets(requestsPerMinute, BURST);
  const addresses = new TokenBuckets(loginsPerMinute, loginsPerMinute);
  const networks = new TokenBuckets(loginsPerMinute, loginsPerMinute);
  const loginsPerEmail = loginsPerMinute * NETWORKS_PER_EMAIL;
  const emails = new TokenBuckets(loginsPerEmail, loginsPerEmail);
  const publicPerMinute = requestsPerMinute === 0 ? 0 : PUBLIC_PER_MINUTE;
  const strangers = new TokenBuckets(publicPerMinute, publicPerMinute);
  const buckets: Readonly<Record<string, TokenBuckets>> = {
    requests,
    addresses,
    networks,
    emails,
    strangers,
    ...tenants,
    ...previewBuckets(),
  };
  const take = (name: keyof typeof buckets, caller: string, tokens = 1): number | undefined => {
    const bucket = buckets[name];
    if (bucket === undefined || bucket.isOff) return undefined;
    const wait = bucket.take(caller, clock.now(), tokens);
    if (wait === undefined) shared?.took(name, caller, tokens);
    return wait;
  };
  shared?.onTaken((name, caller, tokens) => buckets[name]?.debit(caller, tokens, clock.now()));
  return {
    headersOf: (principal) => {
      const counted: Counted[] = [['credential', requests, callerKey(principal)]];
      if ('tenantId' in principal)
        counted.push(['tenant', tenants[principal.rights.plan], principal.tenantId]);
      return limitHeaders(counted, clock.now());
    },
    request: (callerKey) => take('requests', callerKey),
    ofTenant: (tenantId, plan) => take(plan, tenantId),
    loginFrom: (address) => take('addresses', networkOf(address, OF_ADDRESS)),
    publicFrom: (address, operationId) =>
      take('strangers', `${operationId}\n${networkOf(address, OF_ADDRESS)}`),
    loginAs: (email, address) => {
      // Truncated above the length of any e-mail, to bound memory. Spellings of one account's e-mail count as one.
      const folded = email.slice(0, 400).normalize('NFC').trim().toLowerCase();
      // A login that its network's limit refuses does not count against the e-mail.
      return take('networks', `${networkOf(address, OF_LOGIN)}\n${folded}`) ?? take('emails', folded);
    },
    previewOf: (tenantId, plan, rows) => take(previewsOf(plan), tenantId, rows * KIB_OF_ROW),
  };
};

/** Counts a request of a credential and of its tenant. @throws {DomainError} `rate_limited` */
export const countRequest = (
  limits: Pick<RateLimits, 'request' | 'ofTenant'>,
  principal: Principal,
): void => {
  refuse(limits.request(callerKey(principal)), 'credential');
  if ('tenantId' in principal) refuse(limits.ofTenant(principal.tenantId, principal.rights.plan), 'tenant');
};

/** @param wait seconds until the next request is allowed @throws {DomainError} `rate_limited` */
export const refuse = (wait: number | undefined, limit: ExceededLimit): void => {
  if (wait !== undefined) throw rateLimited(wait, limit);
};
