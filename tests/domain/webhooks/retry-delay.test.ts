import { expect } from 'chai';
import { retryAfterOf, retryDelayMs } from '../../../domain/webhooks/retry-delay.ts';

describe('Retry-After of a webhook’s receiver', () => {
  it('is read in seconds or as a date, from a 429 or 503 only', () => {
    const now = Date.UTC(2026, 0, 1);
    const of = (header: string | undefined, status = 429) => retryAfterOf(status, header, now);
    expect([of('30'), of(' 7 '), of('30', 503), of('0')]).to.deep.equal([30_000, 7000, 30_000, 0]);
    expect(of('Thu, 01 Jan 2026 00:01:00 GMT')).to.equal(60_000);
    expect(of('Wed, 21 Oct 2015 07:28:00 GMT')).to.equal(0);
    for (const odd of ['-1', 'NaN', '1e9', '0x10', '9999999999', '', 'tomorrow', '30, 40', undefined]) {
      expect(of(odd), String(odd)).to.equal(undefined);
    }
    expect([of('30', 500), of('30', 200)]).to.deep.equal([undefined, undefined]);
  });
});

describe('The retry table', () => {
  const retrySeconds = [60, 300, 1800, 7200];

  it('is never shortened, and lengthened by at most a tenth', () => {
    retrySeconds.forEach((seconds, index) => {
      const delay = (random: number) => retryDelayMs({ retrySeconds, attempt: index + 1, random });
      expect(delay(0)).to.equal(seconds * 1000);
      expect(delay(1)).to.be.within(seconds * 1100 - 1, seconds * 1100);
    });
  });

  it('is lengthened by Retry-After, at most to twice its step, and never shortened', () => {
    const delay = (retryAfterMs: number) =>
      retryDelayMs({ retrySeconds, attempt: 1, random: 0.5, retryAfterMs });
    expect([0, 1000, 90_000, 120_000, 9e12].map(delay)).to.deep.equal([
      63_000, 63_000, 90_000, 120_000, 120_000,
    ]);
  });
});
