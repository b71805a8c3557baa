import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/** As some proxies write addresses into `X-Forwarded-For`: `192.0.2.7:4711`, `[2001:db8::1]:4711`, `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/;

/**
 * The network of an address, for limits that addresses of one owner share. An IPv4 address mapped into IPv6 counts as
 * IPv4, a port does not count; a text that is no address stands for itself.
 * @param bits length of the network, for each kind of address
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

/** Express reads `X-Forwarded-For` only behind `TRUST_PROXY`; without it the socket says it at once. */
export const clientAddress = (
  request: Request,
  trustProxy: boolean | number | string | undefined,
): string => {
  const trusted = trustProxy !== undefined && trustProxy !== false;
  return (trusted ? request.ip : request.socket.remoteAddress) ?? '';
};
