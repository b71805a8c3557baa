import { expect } from 'chai';
import fc from 'fast-check';
import { networkOf } from '../../../api/http/address.ts';

describe('The network of an address', () => {
  const BITS = { ipv4: 24, ipv6: 48 };

  for (const [address, network] of [
    ['203.0.113.7', '203.0.113.0'],
    ['::ffff:203.0.113.7', '203.0.113.0'],
    ['::FFFF:cb00:7107', '203.0.113.0'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.0'],
    ['2001:db8::1', '2001:db8::'],
    ['2001:DB8:0:0:1:2:3:4', '2001:db8::'],
    ['2001:db8:0:ffff::', '2001:db8::'],
    ['2001:db8:1:1::', '2001:db8:1::'],
    ['2001:db8:1::5.6.7.8', '2001:db8:1::'],
    ['fe80::1%eth0', 'fe80::'],
    ['203.0.113.7:4711', '203.0.113.0'],
    ['[2001:db8::1]:4711', '2001:db8::'],
    ['[::ffff:203.0.113.7]', '203.0.113.0'],
    ['203.0.113.7:', '203.0.113.7:'],
    ['::1', '::'],
    ['::', '::'],
    ['', ''],
    ['1', '1'],
    ['0x7f.1', '0x7f.1'],
    ['no address', 'no address'],
  ] as const) {
    it(`of ${JSON.stringify(address)} is ${JSON.stringify(network)}`, () => {
      expect(networkOf(address, BITS)).to.equal(network);
    });
  }

  it('of 32 bits is the IPv4 address itself in any notation', () => {
    for (const address of ['203.0.113.7', '::ffff:203.0.113.7', '::ffff:cb00:7107']) {
      expect(networkOf(address, { ipv4: 32, ipv6: 48 })).to.equal('203.0.113.7');
    }
  });

  const groups = (count: number) =>
    fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: count, maxLength: count });
  const written = (all: readonly number[]): string => all.map((one) => one.toString(16)).join(':');

  it('is equal for two IPv6 addresses exactly when their first 48 bits are', () => {
    fc.assert(
      fc.property(groups(3), groups(5), groups(3), groups(5), (network, host, other, otherHost) => {
        fc.pre(network.some((one) => one !== 0) && other.some((one) => one !== 0));
        const first = networkOf(written([...network, ...host]), BITS);
        expect(networkOf(written([...network, ...otherHost]), BITS)).to.equal(first);
        const same = written(network) === written(other);
        expect(networkOf(written([...other, ...otherHost]), BITS) === first).to.equal(same);
      }),
    );
  });
});
