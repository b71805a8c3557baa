import { expect } from 'chai';
import fc from 'fast-check';
import { networkOf } from '../../../api/http/address.ts';
import { createRateLimits } from '../../../api/http/rate-limits.ts';

describe('The network of an address', () => {
  for (const [address, network] of [
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:DB8:0:0:1:2:3:4', '2001:db8:0:0::/64'],
    ['2001:db8:0:1::', '2001:db8:0:1::/64'],
    ['2001:db8:1::5.6.7.8', '2001:db8:1:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['', ''],
    ['no address', 'no address'],
  ] as const) {
    it(`of ${JSON.stringify(address)} is ${JSON.stringify(network)}`, () => {
      expect(networkOf(address)).to.equal(network);
    });
  }

  const group = fc.integer({ min: 0, max: 0xffff });
  const half = fc.tuple(group, group, group, group);
  const written = (groups: readonly number[]): string => groups.map((one) => one.toString(16)).join(':');

  it('is the same for two addresses exactly when their first 64 bits are', () => {
    fc.assert(
      fc.property(half, half, half, half, (network, host, other, otherHost) => {
        fc.pre(network.some((one) => one !== 0));
        const first = networkOf(written([...network, ...host]));
        expect(networkOf(written([...network, ...otherHost]))).to.equal(first);
        const same = written(network) === written(other);
        expect(networkOf(written([...other, ...otherHost])) === first).to.equal(same);
      }),
    );
  });

  it('is what logins are counted by', () => {
    const limits = createRateLimits({ requestsPerMinute: 0, loginsPerMinute: 2 }, { now: () => 0 });
    expect(limits.loginFrom('2001:db8::1')).to.equal(undefined);
    expect(limits.loginFrom('2001:db8::ffff:1')).to.equal(undefined);
    expect(limits.loginFrom('2001:db8::2')).to.equal(30);
    expect(limits.loginFrom('2001:db8:0:1::2')).to.equal(undefined);
    expect(limits.loginFrom('::ffff:198.51.100.1')).to.equal(undefined);
    expect(limits.loginFrom('198.51.100.1')).to.equal(undefined);
    expect(limits.loginFrom('::ffff:c633:6401')).to.equal(30);
  });
});
