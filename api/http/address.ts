import { isIPv6 } from 'node:net';
import type { Request } from 'express';

const DOTTED = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

const pair = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16);

/** The eight 16-bit groups of an IPv6 address. */
const groupsOf = (address: string): number[] => {
  const text = address.replace(DOTTED, (_, a: string, b: string, c: string, d: string) => {
    return `${pair(a, b)}:${pair(c, d)}`;
  });
  const [left = [], right] = text.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const zeros = right === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array.from({ length: zeros }, () => '0'), ...(right ?? [])];
  return groups.map((group) => Number.parseInt(group, 16));
};

/**
 * Whom an address stands for where requests are counted by address: an IPv4 address (also one mapped into IPv6) for
 * itself, an IPv6 address for its network of 64 bits, since whoever has one such network has all its addresses.
 */
export const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address.replace(/%.*$/, ''));
  const [a = 0, b = 0] = groups.slice(6);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return [a >> 8, a & 255, b >> 8, b & 255].join('.');
  }
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
};

/** Express reads `X-Forwarded-For` only behind `TRUST_PROXY`; without it the socket says it at once. */
export const clientAddress = (
  request: Request,
  trustProxy: boolean | number | string | undefined,
): string => {
  const trusted = trustProxy !== undefined && trustProxy !== false;
  return (trusted ? request.ip : request.socket.remoteAddress) ?? '';
};
