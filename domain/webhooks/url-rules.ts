/**
 * Checks the text of a webhook's URL (specification, Webhooks; decisions, section 8). The guard for outbound calls
 * resolves names and checks addresses.
 * Checks the host as the URL parser returns it, because the connection uses that host: `0x7f.1`, `2130706433`,
 * `127。0。0。1` and `127.1.` all become `127.0.0.1`. Refuses invisible characters, backslashes, percent signs in the host
 * and a missing `//`, since parsers read them differently.
 */

/** Why a URL is refused. */
export const REFUSAL_REASONS = [
  /** Not a URL, or a text that parsers read differently. */
  'malformed',
  'scheme',
  'user_info',
  'port',
  'host_name',
  /** A forbidden address, in any spelling. */
  'literal_address',
  /** A name that resolves to a forbidden address. */
  'resolved_address',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

export interface UrlRefusal {
  readonly reason: RefusalReason;
  /** A sentence for people. */
  readonly message: string;
}

interface UrlRules {
  /** Also accepts plain http and port 80. */
  readonly allowHttp: boolean;
}

export interface Destination {
  readonly url: URL;
  readonly port: number;
  readonly host: Host;
  /** Why the destination is refused, unless all its addresses are in allowed networks. */
  readonly refusedOutside: UrlRefusal | undefined;
}

/** An address is canonical and without brackets; a name is lower-case ASCII. */
type Host =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'name'; readonly name: string };

/** Servers commonly refuse longer URLs. */
const MAX_URL_LENGTH = 8_000;

/** Control, format and space characters, and lone surrogates. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/u;
const SHAPE = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

/** Names of this machine or its network. */
const SPECIAL_NAMES = ['localhost', 'local', 'internal', 'home.arpa', 'svc.cluster.local'];

/** Ports above 1023 of servers that may accept commands without authentication, such as databases and brokers. */
const REFUSED_PORTS: ReadonlySet<number> = new Set([
  2375, 2379, 3306, 5432, 5672, 6379, 9042, 9200, 10_250, 11_211, 27_017,
]);

const refusal = (reason: RefusalReason, message: string): UrlRefusal => ({ reason, message });

/** Parses a URL, or returns why it is refused. Does not resolve the host's name. */
export const destinationOf = (text: string, rules: UrlRules): Destination | UrlRefusal => {
  if (text.length > MAX_URL_LENGTH) return refusal('malformed', 'The URL is too long.');
  if (INVISIBLE.test(text) || text.includes('\\')) {
    return refusal('malformed', 'The URL must not contain spaces, control characters or backslashes.');
  }
  const url = URL.parse(text);
  const scheme = url?.protocol;
  if (url !== null && scheme !== 'https:' && !(scheme === 'http:' && rules.allowHttp)) {
    return refusal('scheme', rules.allowHttp ? 'The URL must begin with https:// or http://.' : HTTPS);
  }
  const authority = SHAPE.exec(text)?.[1];
  if (authority?.includes('@')) {
    return refusal('user_info', 'The URL must not contain a user name or password.');
  }
  if (url === null || authority === undefined) return refusal('malformed', 'This is not a complete URL.');
  if (authority.includes('%')) {
    return refusal('malformed', 'The host must be written without percent signs.');
  }
  const port = portOf(url);
  const host = hostOf(url.hostname);
  const refusedOutside =
    refusedPort(port, rules) ?? (host.kind === 'name' ? refusedName(host.name) : undefined);
  return { url, port, host, refusedOutside };
};

const HTTPS = 'The URL must begin with https://.';

const portOf = ({ port, protocol }: URL): number => {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
};

const hostOf = (hostname: string): Host => {
  if (hostname.startsWith('[')) return { kind: 'address', address: hostname.slice(1, -1) };
  return IPV4.test(hostname) ? { kind: 'address', address: hostname } : { kind: 'name', name: hostname };
};

const refusedPort = (port: number, rules: UrlRules): UrlRefusal | undefined => {
  const web = port === 443 || (port === 80 && rules.allowHttp);
  if (web || (port >= 1_024 && !REFUSED_PORTS.has(port))) return undefined;
  return refusal('port', 'This port is not allowed.');
};

const refusedName = (name: string): UrlRefusal | undefined => {
  const labels = name.split('.');
  if (name.length > 253 || !labels.every((label) => LABEL.test(label))) {
    return refusal('host_name', 'This host name is not allowed.');
  }
  if (labels.length === 1) return refusal('host_name', 'The host must be a full name, with a dot.');
  if (SPECIAL_NAMES.some((special) => name === special || name.endsWith(`.${special}`))) {
    return refusal('host_name', 'Host names of a private network are not allowed.');
  }
  return undefined;
};
