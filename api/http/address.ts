import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { invalid } from '../../domain/core/errors.ts';

/** Forms of `X-Forwarded-For` with a port or brackets: `192.0.2.7:4711`, `[2001:db8::1]:4711`, `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/;

/**
 * The network of an address, for limits per network. An IPv4-mapped IPv6 address counts as IPv4; a port and an IPv6
 * zone are ignored; a text that is no address is returned unchanged.
 * @param bits network length by kind of address
 */
export const networkOf = (
  address: string,
  bits: { readonly ipv4: number; readonly ipv6: number },
): string => {
  const text = address.replace(WITH_PORT, '$1$2').replace(/%.*$/, '');
  if (isIP(text) === 0) return address;
  const parsed = ipaddr.process(text);
  const network = `${parsed.toString()}/${bits[parsed.kind()]}`;
  return parsed.kind() === 'ipv4'
    ? ipaddr.IPv4.networkAddressFromCIDR(network).toString()
    : ipaddr.IPv6.networkAddressFromCIDR(network).toString();
};

/** The client's address: from `X-Forwarded-For` if `TRUST_PROXY` trusts the socket's peer, otherwise the peer's. */
export const clientAddress = (
  request: Request,
  trustProxy: boolean | number | string | undefined,
): string => {
  const trusted = trustProxy !== undefined && trustProxy !== false;
  return (trusted ? request.ip : request.socket.remoteAddress) ?? '';
};

/** Scheme and host of a request. @throws {DomainError} 400 for an invalid `Host` */
export const originOf = ({ protocol, host }: Request): string => {
  const url = URL.parse(`${protocol}://${host}`);
  if (url !== null && url.host !== '' && url.href === `${url.origin}/`) return url.origin;
  throw invalid([{ path: 'Host', code: 'invalid_format', message: 'The header Host is not a host.' }]);
};
