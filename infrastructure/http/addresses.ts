import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/**
 * Addresses that outbound calls may reach (decisions, section 8). IPv4: all but the special-purpose blocks. IPv6:
 * `2000::/3` without special blocks, so that no form that embeds an IPv4 address passes. Unparsable addresses are
 * refused.
 */

const REMEMBERED = 2_000;

type Address = ReturnType<typeof ipaddr.parse>;
type Network = ReturnType<typeof ipaddr.parseCIDR>;

/** Caches results of a pure function of a text; clears the cache when it is full. */
export function remembered<T>(find: (text: string) => T): (text: string) => T {
  const known = new Map<string, { readonly found: T }>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before.found;
    const found = find(text);
    if (known.size >= REMEMBERED) known.clear();
    known.set(text, { found });
    return found;
  };
}

const networks = (...texts: readonly string[]): readonly Network[] =>
  texts.map((text) => ipaddr.parseCIDR(text));

/** The IANA special-purpose registry, multicast and reserved blocks, and an address of Azure. */
const SPECIAL_IPV4 = networks(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Platform services of Azure, for its own machines only.
  '168.63.129.16/32',
);

const GLOBAL_IPV6 = networks('2000::/3');
const SPECIAL_IPV6 = networks(
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  // A former test network, returned to the registry.
  '3ffe::/16',
  '3fff::/20',
);

/** Strict: accepts no spelling that only some programs parse, and no zone. */
const parsed = (text: string): Address | undefined =>
  isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text);

const within = (address: Address, list: readonly Network[]): boolean =>
  list.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));

const special = (address: Address): boolean =>
  address.kind() === 'ipv4'
    ? within(address, SPECIAL_IPV4)
    : !within(address, GLOBAL_IPV6) || within(address, SPECIAL_IPV6);

/** The canonical spelling of an address; undefined for another text. */
export const canonicalAddress = remembered((text) => parsed(text)?.toString());

/** The machine's current addresses. */
export const addressesOfMachine = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? []);

/** @param own addresses of the machine, whose services may trust local callers */
export const isRefusedAddress = (text: string, own: readonly string[]): boolean => {
  const address = parsed(text);
  if (address === undefined || special(address)) return true;
  const canonical = address.toString();
  return own.some((mine) => canonicalAddress(mine) === canonical);
};

/** @param cidrs such as `10.0.0.0/8`. @throws for an invalid network */
export const allowList = (cidrs: readonly string[]): ((address: string) => boolean) => {
  const allowed = networks(...cidrs);
  return remembered((text) => {
    const address = parsed(text);
    return address !== undefined && within(address, allowed);
  });
};
