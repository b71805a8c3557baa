import { useSyncExternalStore } from 'react';
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
  /** A session that has ended; requests wait until it is renewed. */
  readonly ended?: Session | undefined;
}

let present: Sessions = {};
const listeners = new Set<() => void>();
/** Requests that wait for a renewed session. */
let waiting: PromiseWithResolvers<void> | undefined;

const publish = (next: Sessions): void => {
  present = next;
  for (const listener of listeners) listener();
};

export const getSessions = (): Sessions => present;

export const useSessions = (): Sessions =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, getSessions);

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
  const { ended } = present;
  const isRenewed = ended?.kind === session.kind;
  if (isRenewed && identityOf(ended) !== identityOf(session)) signOut(session.kind);
  publish({ ...present, [session.kind]: session, ended: isRenewed ? undefined : present.ended });
  if (isRenewed) {
    waiting?.resolve();
    waiting = undefined;
  }
};

/** Ends one session, or all sessions. Requests that wait for an ended session fail. */
export const signOut = (kind?: SessionKind): void => {
  const isWaitedFor = kind === undefined || present.ended?.kind === kind;
  if (kind === undefined) publish({});
  else publish({ ...present, [kind]: undefined, ended: isWaitedFor ? undefined : present.ended });
  if (isWaitedFor) {
    waiting?.reject(new SignedOut());
    waiting = undefined;
  }
};

/** The caller has signed out while a request waited. */
export class SignedOut extends Error {
  override readonly name = 'SignedOut';
  constructor() {
    super('You have signed out.');
  }
}

/**
 * The token of a session. If the token has expired or was refused, asks for a new sign-in over the page.
 * @param refused a token that the server did not accept
 * @throws {SignedOut}
 */
export const presentToken = async (kind: SessionKind, refused?: string): Promise<string> => {
  for (;;) {
    const session = present[kind];
    if (session === undefined) throw new SignedOut();
    if (session.token !== refused && session.expiresAt > Date.now()) return session.token;
    if (waiting === undefined) {
      waiting = Promise.withResolvers();
      publish({ ...present, ended: session });
    }
    await waiting.promise;
  }
};
