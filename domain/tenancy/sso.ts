import { z } from 'zod';
import { invalidAt } from '../core/errors.ts';
import { decided, defineEvent, type EventMeta, type EventOf } from '../core/event.ts';

/**
 * Single sign-on of a tenant by OpenID Connect (decisions, section 3): provider, client, and allowed return origins.
 * Part of the tenant's stream; the client's secret is sealed with a separate key.
 */

// Events

export const TenantSsoConfigured = defineEvent(
  'TenantSsoConfigured',
  z.object({
    tenant_id: z.string(),
    issuer: z.string(),
    client_id: z.string(),
    client_secret: z.string(),
    return_origins: z.array(z.string()),
  }),
  { personal: { client_secret: { kind: 'sso', id: 'tenant_id' } }, secret: ['client_secret'] },
);

export const TenantSsoRemoved = defineEvent('TenantSsoRemoved', z.object({ tenant_id: z.string() }));

export const ssoEvents = [TenantSsoConfigured, TenantSsoRemoved] as const;
export type SsoEvent = EventOf<(typeof ssoEvents)[number]>;

// State

export interface TenantSso {
  readonly issuer: string;
  readonly clientId: string;
  /** Sealed. */
  readonly clientSecret: string;
  readonly returnOrigins: readonly string[];
  /** Revision of the event that configured single sign-on; identifies the configuration. */
  readonly revision: number;
}

export const ssoOf = (
  data: z.output<typeof TenantSsoConfigured.schema>,
  { revision }: EventMeta,
): TenantSso => ({
  issuer: data.issuer,
  clientId: data.client_id,
  clientSecret: data.client_secret,
  returnOrigins: data.return_origins,
  revision,
});

// Commands and decide

export interface SsoSettings {
  readonly issuer: string;
  readonly client_id: string;
  /** If undefined, the present secret stays; this is allowed only if provider and client stay the same. */
  readonly client_secret?: string | undefined;
  readonly return_origins: readonly string[];
}

/** A tenant's present settings, with the secret in the clear. */
export interface PresentSso {
  readonly sso: TenantSso | undefined;
  readonly secret: string | undefined;
}

/**
 * Replaces all settings; null removes them, undefined keeps them, equal settings change nothing.
 * @throws `validation_failed` when no secret is given and none can be kept
 */
export const changeSso = (
  tenantId: string,
  { sso, secret }: PresentSso,
  wanted: SsoSettings | null | undefined,
): readonly SsoEvent[] => {
  if (wanted === undefined) return [];
  if (wanted === null) {
    return sso === undefined ? [] : decided(TenantSsoRemoved, { tenant_id: tenantId });
  }
  const sameClient = sso?.issuer === wanted.issuer && sso.clientId === wanted.client_id;
  const client_secret = wanted.client_secret ?? (sameClient ? secret : undefined);
  if (client_secret === undefined) {
    throw invalidAt('sso.client_secret', 'required', 'The secret is required for a new client.');
  }
  const sameOrigins = JSON.stringify(sso?.returnOrigins) === JSON.stringify(wanted.return_origins);
  if (sameClient && sameOrigins && client_secret === secret) return [];
  const { issuer, client_id, return_origins } = wanted;
  return decided(TenantSsoConfigured, {
    tenant_id: tenantId,
    issuer,
    client_id,
    client_secret,
    return_origins: [...return_origins],
  });
};

// Addresses

export const MAX_RETURN_ORIGINS = 20;
const MAX_RETURN_TO = 2_000;

/** Whether a host name, as in `URL.hostname`, is a loopback address. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);

const isSafe = (url: URL, loopbackHttp: boolean): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && loopbackHttp && isLoopback(url.hostname));

/**
 * Whether a text is a valid issuer: an https address, spelled as the URL parser spells it, without user info, query and
 * fragment. The address of an issuer's metadata is refused.
 * @param loopbackHttp also accepts plain http on loopback, for trials
 */
export const isIssuer = (text: string, loopbackHttp: boolean): boolean => {
  const url = URL.parse(text);
  if (url === null || !isSafe(url, loopbackHttp)) return false;
  if (url.username !== '' || url.password !== '' || /[?#]/.test(text)) return false;
  if (url.pathname.includes('/.well-known')) return false;
  return url.href === text || url.href === `${text}/`;
};

/** An exact origin, `scheme://host[:port]`: https, or http on loopback. */
export const isReturnOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && url.origin === text && isSafe(url, true) && !text.includes('*');
};

/**
 * The normalised URL to which a browser is sent with its token; undefined for a URL that is not allowed. The URL must
 * not have a fragment, because the token is sent as the fragment.
 */
export const allowedReturn = (text: string, origins: readonly string[]): string | undefined => {
  const url = URL.parse(text);
  if (url === null || !origins.includes(url.origin) || text.includes('#')) return undefined;
  if (url.username !== '' || url.password !== '' || url.href.length > MAX_RETURN_TO) return undefined;
  return url.href;
};
