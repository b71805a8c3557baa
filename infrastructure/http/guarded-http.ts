import type {
  Failed,
  OutboundAnswer,
  OutboundHttp,
  OutboundRequest,
  Refused,
  UrlVerdict,
} from '../../application/ports/outbound-http.ts';
import { type Destination, destinationOf, type UrlRefusal } from '../../domain/webhooks/url-rules.ts';
import { addressesOfMachine, allowList, isRefusedAddress, remembered } from './addresses.ts';
import type { Connection } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { TIMED_OUT, withDeadline } from './deadline.ts';
import { nameServers, type Resolve } from './dns.ts';
import { failed, failureOf } from './failures.ts';
import { openPinned } from './pinned-socket.ts';

export interface GuardOptions {
  /**
   * Networks such as `10.0.0.0/8` in which every address, port and name may be called. `0.0.0.0/0` and `::/0` suit an
   * upstream that the operator configures.
   */
  readonly allowedNetworks: readonly string[];
  /** Also accepts plain http and port 80. */
  readonly allowHttp: boolean;
  readonly resolve?: Resolve;
  readonly ownAddresses?: () => readonly string[];
  /** Certificate authorities (PEM) that replace Node's. */
  readonly authorities?: readonly string[];
  /** Timeout (ms) of the look-up in `check`. */
  readonly checkTimeoutMs?: number;
}

const CHECK_TIMEOUT_MS = 3_000;

type Verdict = Checked | Refused | Failed;
type Checked = { readonly kind: 'open'; readonly to: Destination; readonly addresses: readonly string[] };

const refused = ({ reason, message }: UrlRefusal): Refused => ({ kind: 'refused', reason, message });

/**
 * Guards every call to a URL that a user chose (specification, "Webhooks"; decisions, section 8). Checks the URL,
 * looks its name up once, checks all addresses, and connects only to these. Ignores proxies of the environment, which
 * would look names up themselves.
 * @throws for an invalid network
 */
export const guardedHttp = (options: GuardOptions): OutboundHttp => {
  const { allowHttp, authorities, checkTimeoutMs = CHECK_TIMEOUT_MS } = options;
  const resolve = options.resolve ?? nameServers();
  const ownAddresses = options.ownAddresses ?? addressesOfMachine;
  const isAllowed = allowList(options.allowedNetworks);
  const hasAllowedNetworks = options.allowedNetworks.length > 0;

  const destinations = remembered((url) => destinationOf(url, { allowHttp }));

  /** @throws the signal's reason */
  const checkUrl = async (url: string, signal: AbortSignal): Promise<Verdict> => {
    const to = destinations(url);
    if ('reason' in to) return refused(to);
    // Refused without a look-up, so that callers cannot find out which internal names exist.
    if (to.refusedOutside !== undefined && !hasAllowedNetworks) return refused(to.refusedOutside);
    const { host } = to;
    return checkAddresses(to, host.kind === 'address' ? [host.address] : await lookUp(host.name, signal));
  };

  /** Returns an empty list if the name has no address or the look-up fails. @throws if the signal is aborted */
  const lookUp = async (name: string, signal: AbortSignal): Promise<readonly string[]> => {
    try {
      const addresses = await resolve(name, signal);
      // Prevents a call after the caller has aborted.
      signal.throwIfAborted();
      return addresses;
    } catch (error) {
      if (signal.aborted) throw error;
      return [];
    }
  };

  const checkAddresses = (to: Destination, addresses: readonly string[]): Verdict => {
    if (addresses.length === 0) {
      return to.refusedOutside === undefined
        ? failed('dns', 'The name of the host has no address.')
        : refused(to.refusedOutside);
    }
    const outside = addresses.filter((address) => !isAllowed(address));
    const own = outside.length === 0 ? [] : ownAddresses();
    // One refused address refuses the name: the guard does not pick another one.
    if (outside.some((address) => isRefusedAddress(address, own))) return refused(addressRefusal(to));
    if (outside.length > 0 && to.refusedOutside !== undefined) return refused(to.refusedOutside);
    return { kind: 'open', to, addresses };
  };

  const kept = new ConnectionPool();

  const open = async ({ to, addresses }: Checked, signal: AbortSignal): Promise<Connection> => {
    const { url, port, host } = to;
    // Loads undici with the first call, so that the server starts faster.
    const { Connection } = await import('./connection.ts');
    const socket = await openPinned(
      {
        host: host.kind === 'address' ? host.address : host.name.replace(/\.$/, ''),
        addresses,
        port,
        tls: url.protocol === 'https:',
        authorities,
      },
      signal,
    );
    return new Connection(socket, url.origin);
  };

  const exchange = async (call: OutboundRequest, signal: AbortSignal): Promise<OutboundAnswer> => {
    const checked = await checkUrl(call.url, signal);
    if (checked.kind !== 'open') return checked;
    const { url } = checked.to;
    const key = call.reuse === undefined ? undefined : `${call.reuse} ${url.origin}`;
    const found = key === undefined ? undefined : kept.take(key, checked.addresses);
    if (found !== undefined) {
      try {
        return await over(found, call, url, signal, key);
      } catch (error) {
        // No byte of an answer came: the server has probably closed the idle connection. Repeats the call on a new one.
        if (signal.aborted || !found.isSilent) throw error;
      }
    }
    return over(await open(checked, signal), call, url, signal, key);
  };

  /** Runs one exchange, and keeps the connection only after a complete answer with a 2xx status. */
  const over = async (
    connection: Connection,
    call: OutboundRequest,
    { pathname, search }: URL,
    signal: AbortSignal,
    key: string | undefined,
  ): Promise<OutboundAnswer> => {
    let isGood = false;
    try {
      const answer = await connection.exchange(call, `${pathname}${search}`, key === undefined, signal);
      isGood = answer.status >= 200 && answer.status < 300 && !answer.truncated;
      return answer;
    } finally {
      if (isGood && key !== undefined) kept.put(key, connection);
      else connection.close();
    }
  };

  return {
    check: (url) =>
      withDeadline(checkTimeoutMs, undefined, async (signal): Promise<UrlVerdict> => {
        const checked = await checkUrl(url, signal);
        if (checked.kind !== 'refused') return { ok: true };
        return { ok: false, reason: checked.reason, message: checked.message };
      }).catch((error: unknown): UrlVerdict => {
        // A look-up that takes too long is accepted, like a name without an address.
        if (error === TIMED_OUT) return { ok: true };
        throw error;
      }),

    request: async (call, given) => {
      try {
        return await withDeadline(call.timeoutMs, given, (signal) => exchange(call, signal));
      } catch (error) {
        if (error === TIMED_OUT) return TIMED_OUT;
        given?.throwIfAborted();
        return failureOf(error);
      }
    },
  };
};

const addressRefusal = ({ host }: Destination): UrlRefusal =>
  host.kind === 'address'
    ? { reason: 'literal_address', message: 'Calls to this address are not allowed.' }
    : {
        reason: 'resolved_address',
        message: 'The host name resolves to an address that must not be called.',
      };
