import { createStore } from '../kit/store.ts';
import { claimsOf } from './token.ts';

/** Store of the current sessions. Tokens are in memory only: a reload signs out. */

export type Role = 'admin' | 'operator';
export type Via = 'password' | 'sso' | 'impersonation';

interface Signed {
  readonly token: string;
  readonly email: string;
  /** ms since 1970. */
  readonly expiresAt: number;
}

export interface TenantSession extends Signed {
  readonly kind: 'tenant';
  readonly tenantId: string;
  readonly userId: string;
  readonly role: Role;
  readonly via: Via;
  /** The platform admin who acts as this user. */
  readonly impersonatedBy: string | undefined;
}

export interface PlatformSession extends Signed {
  readonly kind: 'platform';
}

export interface PartnerSession extends Signed {
  readonly kind: 'partner';
  readonly partnerId: string;
}

export type Session = TenantSession | PlatformSession | PartnerSession;
export type SessionKind = Session['kind'];

/** The current sessions. A platform admin may have a session of a tenant at the same time. */
export interface Sessions {
  readonly tenant?: TenantSession | undefined;
  readonly platform?: PlatformSession | undefined;
  readonly partner?: PartnerSession | undefined;
  /** A session that has ended and is renewed next; requests wait for it. */
  readonly ended?: Session | undefined;
}

const sessions = createStore<Sessions>({});
/** The requests that wait for a renewed session, by its kind. */
const waiting = new Map<SessionKind, PromiseWithResolvers<void>>();
/** The platform's session is renewed first, since an impersonation is renewed with it. */
const KINDS = ['platform', 'tenant', 'partner'] as const;

const publish = (next: Omit<Sessions, 'ended'>): void => {
  const kind = KINDS.find((one) => waiting.has(one));
  sessions.set({ ...next, ended: kind && next[kind] });
};

export const { get: getSessions, subscribe: onSessions } = sessions;

export const tenantSession = (token: string, via: Via): TenantSession => {
  const { sub, email, role, tenantId, impersonatedBy, expiresAt } = claimsOf(token);
  return {
    kind: 'tenant',
    token,
    email,
    expiresAt,
    tenantId,
    userId: sub,
    role: role === 'admin' ? 'admin' : 'operator',
    via,
    impersonatedBy,
  };
};

export const platformSession = (token: string): PlatformSession => {
  const { email, expiresAt } = claimsOf(token);
  return { kind: 'platform', token, email, expiresAt };
};

export const partnerSession = (token: string): PartnerSession => {
  const { email, expiresAt, partnerId } = claimsOf(token);
  return { kind: 'partner', token, email, expiresAt, partnerId };
};

/** Identifies the person and tenant of a session; caches and clients belong to one identity. */
export const identityOf = (session: Session): string => {
  switch (session.kind) {
    case 'tenant':
      return ['tenant', session.tenantId, session.userId, session.impersonatedBy ?? ''].join(' ');
    case 'platform':
      return `platform ${session.email}`;
    case 'partner':
      return `partner ${session.partnerId} ${session.email}`;
    default:
      return session satisfies never;
  }
};

/** Begins or renews a session. Requests that wait for the session continue if the same person has signed in. */
export const signIn = (session: Session): void => {
  const { kind } = session;
  const before = getSessions()[kind];
  if (waiting.has(kind) && before !== undefined && identityOf(before) !== identityOf(session)) signOut(kind);
  const renewed = waiting.get(kind);
  waiting.delete(kind);
  publish({ ...getSessions(), [kind]: session });
  renewed?.resolve();
};

/** Ends one session, or all sessions. Requests that wait for an ended session fail. */
export const signOut = (kind?: SessionKind): void => {
  const kinds = kind === undefined ? KINDS : [kind];
  const left = kinds.map((one) => waiting.get(one));
  for (const one of kinds) waiting.delete(one);
  publish(kind === undefined ? {} : { ...getSessions(), [kind]: undefined });
  for (const one of left) one?.reject(new SignedOut());
};

/** The session of a request is over: the caller has signed out, or has signed in as another person. */
export class SignedOut extends Error {
  override readonly name = 'SignedOut';
  constructor() {
    super('You have signed out.');
  }
}

/**
 * The token of a session. If the token has expired or was refused, asks for a new sign-in over the page.
 * @param refused a token that the server did not accept
 * @throws {SignedOut} also when another person or tenant has taken the place of the session
 */
export const presentToken = async (of: Session, refused?: string): Promise<string> => {
  const { kind } = of;
  for (;;) {
    const session = getSessions()[kind];
    if (session === undefined || identityOf(session) !== identityOf(of)) throw new SignedOut();
    if (session.token !== refused && session.expiresAt > Date.now()) return session.token;
    const renewal = waiting.get(kind) ?? Promise.withResolvers<void>();
    if (!waiting.has(kind)) {
      waiting.set(kind, renewal);
      publish(getSessions());
    }
    await renewal.promise;
  }
};
