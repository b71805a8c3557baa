import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import { canonicalAddress } from './addresses.ts';

/** Where a socket goes: a host by the addresses that were judged, and by no other. */
export interface PinnedTarget {
  /** What a certificate must be for: a name without a dot at its end, or an address. */
  readonly host: string;
  /** At least one. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly tls: boolean;
  /** Instead of the authorities that Node trusts. */
  readonly authorities: readonly string[] | undefined;
}

/** The other side does not prove that it is who was called. */
export class TlsError extends Error {
  override readonly name = 'TlsError';
}

/** A name with more addresses than this is tried at the first ones. */
const MAX_TRIED = 8;
/** An address that stays silent for this long is given up for the next one. */
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

/** Until something has happened on a socket; then its errors are whoever's that takes it over. */
const happened = (socket: Socket, event: string, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => fail(signal.reason);
    const settle = (): void => {
      signal.removeEventListener('abort', stop);
      socket.off('error', fail).off('close', closed).off(event, done);
      // An error that nobody listens for would end the process.
      socket.on('error', () => undefined);
    };
    const done = (): void => {
      settle();
      resolve();
    };
    const fail = (error: unknown): void => {
      settle();
      socket.destroy();
      reject(error);
    };
    const closed = (): void => fail(new Error('closed'));
    signal.addEventListener('abort', stop, { once: true });
    socket.on('error', fail).on('close', closed).on(event, done);
    if (signal.aborted) stop();
  });

/**
 * The address that a socket has reached must be one of those that were judged. By construction it is; this says so
 * before the first byte is sent, whatever becomes of the construction.
 */
export const isPinned = (remote: string | undefined, addresses: readonly string[]): boolean => {
  const reached = remote === undefined ? undefined : canonicalAddress(remote);
  return reached !== undefined && addresses.some((address) => canonicalAddress(address) === reached);
};

/**
 * Connects, and with TLS shakes hands; the certificate is checked whatever the environment says.
 * @throws the signal's reason, {@link TlsError}, or what the system says
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
