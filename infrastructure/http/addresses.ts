import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/**
 * Which addresses are called (decisions, section 8). IPv4: all but the special-purpose blocks. IPv6: of `2000::/3`
 * what is not special, so that no form that carries an IPv4 address inside passes. What is not understood is refused.
 */

const REMEMBERED = 2_000;

type Address = ReturnType<typeof ipaddr.parse>;
type Network = ReturnType<typeof ipaddr.parseCIDR>;

/** What follows from a text alone is found once; of many texts, the last ones are remembered. */
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

/** The whole IANA special-purpose registry, with multicast and what is reserved, and one address of a cloud. */
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
  // Answers machines of one cloud with what concerns the machine.
  '168.63.129.16/32',
);

const GLOBAL_IPV6 = networks('2000::/3');
const SPECIAL_IPV6 = networks(
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  // Was the test network whose numbers went back.
  '3ffe::/16',
  '3fff::/20',
);

/** Strict: none of the spellings that only some programs read. A zone is part of no address that is called. */
const parsed = (text: string): Address | undefined =>
  isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text);

const within = (address: Address, list: readonly Network[]): boolean =>
  list.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));

const special = (address: Address): boolean =>
  address.kind() === 'ipv4'
    ? within(address, SPECIAL_IPV4)
    : !within(address, GLOBAL_IPV6) || within(address, SPECIAL_IPV6);

/** One spelling of an address; undefined for what is none. */
export const canonicalAddress = remembered((text) => parsed(text)?.toString());

/** Addresses that this machine has now. */
export const addressesOfMachine = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? []);

/** @param own addresses of the machine: what listens on them may trust who is near */
export const isRefusedAddress = (text: string, own: readonly string[]): boolean => {
  const address = parsed(text);
  if (address === undefined || special(address)) return true;
  const canonical = address.toString();
  return own.some((mine) => canonicalAddress(mine) === canonical);
};

/** @param cidrs such as `10.0.0.0/8`. @throws for what is no network */
export const allowList = (cidrs: readonly string[]): ((address: string) => boolean) => {
  const allowed = networks(...cidrs);
  return remembered((text) => {
    const address = parsed(text);
    return address !== undefined && within(address, allowed);
  });
};
