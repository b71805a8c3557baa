import { expect } from 'chai';
import fc from 'fast-check';
import { guard, REFUSED, TAKEN } from './forms-support.ts';

describe('A guarded call', () => {
  const { check } = guard();

  for (const [reason, urls] of Object.entries(REFUSED)) {
    for (const url of urls) {
      it(`is refused for ${reason}: ${JSON.stringify(url).slice(0, 90)}`, async () => {
        expect(await check(url)).to.include({ ok: false, reason });
      });
    }
  }

  for (const url of TAKEN) {
    it(`is allowed: ${url}`, async () => {
      expect(await check(url)).to.deep.equal({ ok: true });
    });
  }

  it('refuses the same URLs when it is sent, and sends nothing', async () => {
    const { request } = guard();
    for (const [reason, urls] of Object.entries(REFUSED)) {
      for (const url of urls) {
        const limits = { timeoutMs: 2_000, maxResponseBytes: 100 };
        const answer = await request({ url, method: 'POST', headers: {}, body: 'x', ...limits });
        expect(answer, url).to.include({ kind: 'refused', reason });
      }
    }
  });

  it('may use http and port 80 when allowed, with all other rules', async () => {
    const open = guard({ allowHttp: true });
    for (const url of [
      'http://example.com/',
      'http://example.com:8080/',
      'https://example.com:80/',
      ...TAKEN,
    ]) {
      expect(await open.check(url), url).to.deep.equal({ ok: true });
    }
    for (const [url, reason] of [
      ['http://127.0.0.1/', 'literal_address'],
      ['http://2130706433:8080/', 'literal_address'],
      ['http://localhost/', 'host_name'],
      ['http://example.com:22/', 'port'],
      ['http://example.com:6379/', 'port'],
      ['http://user@example.com/', 'user_info'],
      ['ftp://example.com/', 'scheme'],
    ] as const) {
      expect(await open.check(url), url).to.include({ ok: false, reason });
    }
  });

  it('is checked by the address in any spelling', async () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const spellings = ([a, b, c, d]: readonly [number, number, number, number]): string[] => {
      const whole = ((a * 256 + b) * 256 + c) * 256 + d;
      const octal = (value: number): string => `0${value.toString(8)}`;
      const hex = (value: number): string => `0x${value.toString(16)}`;
      return [
        `${whole}`,
        hex(whole),
        octal(whole),
        `${a}.${whole % 2 ** 24}`,
        `${a}.${b}.${whole % 2 ** 16}`,
        [a, b, c, d].map(octal).join('.'),
        [a, b, c, d].map(hex).join('.'),
        `${[a, b, c, d].join('.')}.`,
        [a, b, c, d].join('。'),
      ];
    };
    await fc.assert(
      fc.asyncProperty(fc.tuple(byte, byte, byte, byte), async (parts) => {
        const plain = await check(`https://${parts.join('.')}/`);
        for (const host of spellings(parts))
          expect(await check(`https://${host}/`), host).to.deep.equal(plain);
        const [high, low] = [parts[0] * 256 + parts[1], parts[2] * 256 + parts[3]].map((n) => n.toString(16));
        for (const prefix of ['::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::']) {
          for (const tail of [parts.join('.'), `${high}:${low}`]) {
            expect(await check(`https://[${prefix}${tail}]/`)).to.include({ ok: false });
          }
        }
        expect(await check(`https://[2002:${high}:${low}::1]/`)).to.include({ ok: false });
      }),
      { numRuns: 200 },
    );
  });

  it('has an answer for any text', async () => {
    const piece = fc.constantFrom(
      'https://',
      '@',
      '[',
      ']',
      ':',
      '/',
      '\\',
      '%',
      '.',
      '127',
      '::',
      'a',
      'x.com',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece).map((parts) => parts.join('')),
    );
    await fc.assert(
      fc.asyncProperty(text, async (url) => {
        expect((await check(url)).ok).to.be.a('boolean');
      }),
      { numRuns: 500 },
    );
  });
});
