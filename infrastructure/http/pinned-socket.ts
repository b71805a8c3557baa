import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import { canonicalAddress } from './addresses.ts';

/** Target of a socket: a host, and the checked addresses of that host. */
interface PinnedTarget {
  /** Subject of the certificate: a name without a trailing dot, or an address. */
  readonly host: string;
  /** At least one address. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly tls: boolean;
  /** Certificate authorities that replace Node's. */
  readonly authorities: readonly string[] | undefined;
}

/** The TLS handshake failed, for example because the certificate is not valid for the host. */
export class TlsError extends Error {
  override readonly name = 'TlsError';
}

/** Maximum of addresses tried for one name. */
const MAX_TRIED = 8;
/** Time (ms) without an answer after which the next address is tried. */
const NEXT_ADDRESS_MS = 1_000;

const pinnedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_name, options, callback) => {
    const all = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = all;
    if (options.all === true) callback(null, all);
    else if (first === undefined) callback(new Error('no address'), '');
    else callback(null, first.address, first.family);
  };

/** Waits for an event of a socket. Ignores later errors, which the socket's next user handles. */
const happened = async (socket: Socket, event: string, signal: AbortSignal): Promise<void> => {
  // An error without a listener would end the process.
  socket.on('error', () => undefined);
  try {
    await once(socket, event, { signal });
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? signal.reason : error;
  }
};

/** Whether a connected socket reached one of the checked addresses: verified before the first byte is sent. */
export const isPinned = (remote: string | undefined, addresses: readonly string[]): boolean => {
  const reached = remote === undefined ? undefined : canonicalAddress(remote);
  return reached !== undefined && addresses.some((address) => canonicalAddress(address) === reached);
};

/**
 * Connects, with a TLS handshake if needed; the environment cannot disable the check of the certificate.
 * @throws the signal's reason, {@link TlsError}, or a system error
 */
export const openPinned = async (target: PinnedTarget, signal: AbortSignal): Promise<Socket> => {
  const { host, port, tls, authorities } = target;
  const addresses = target.addresses.slice(0, MAX_TRIED);
  const socket = connect({
    host,
    port,
    lookup: pinnedLookup(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    noDelay: true,
  });
  await happened(socket, 'connect', signal);
  if (!isPinned(socket.remoteAddress, addresses)) {
    socket.destroy();
    throw new Error('connected to another address');
  }
  if (!tls) return socket;
  const safe = secure({
    socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(authorities === undefined ? {} : { ca: [...authorities] }),
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
  });
  try {
    await happened(safe, 'secureConnect', signal);
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? error : new TlsError('no secure connection', { cause: error });
  }
  return safe;
};
