import { expect } from 'chai';
import fc from 'fast-check';
import { destinationOf, REFUSAL_REASONS } from '../../../domain/webhooks/url-rules.ts';

/** Refused and accepted forms are in tests/infrastructure/http/forms.test.ts, with checks of addresses. */
describe('The text of a URL', () => {
  const read = (text: string, allowHttp = false) => {
    const found = destinationOf(text, { allowHttp });
    if ('reason' in found) throw new Error(found.message);
    return found;
  };

  it('gives the host and port that are connected to', () => {
    for (const [text, host, port] of [
      ['https://Example.COM', { kind: 'name', name: 'example.com' }, 443],
      ['https://bücher.example:8443/a', { kind: 'name', name: 'xn--bcher-kva.example' }, 8_443],
      ['http://example.com', { kind: 'name', name: 'example.com' }, 80],
      ['https://0x7f.1:1/', { kind: 'address', address: '127.0.0.1' }, 1],
      ['https://[0:0::1]/', { kind: 'address', address: '::1' }, 443],
      ['https://[::ffff:127.0.0.1]/', { kind: 'address', address: '::ffff:7f00:1' }, 443],
      ['https://localhost./', { kind: 'name', name: 'localhost.' }, 443],
    ] as const) {
      expect(read(text, true), text).to.deep.include({ host, port });
    }
  });

  it('is refused everywhere when invalid, and outside allowed networks for port and name', () => {
    expect(read('https://example.com:22/').refusedOutside?.reason).to.equal('port');
    expect(read('https://redis/').refusedOutside?.reason).to.equal('host_name');
    expect(read('https://example.com/').refusedOutside).to.equal(undefined);
    expect(destinationOf('http://redis:22/', { allowHttp: false })).to.include({ reason: 'scheme' });
    expect(destinationOf('https://u@redis:22/', { allowHttp: false })).to.include({ reason: 'user_info' });
  });

  it('parses to itself, and hides no user info', () => {
    const piece = fc.constantFrom(
      ...[
        'https://',
        'http://',
        'a.com',
        '127.1',
        '[::1]',
        '@',
        ':',
        ':443',
        ':8443',
        '/',
        '?',
        '#',
        '%40',
        '\\',
      ],
      ...[' ', '\t', '.', '。', 'ä', 'ⓐ', '%', '-', '_', 'x'],
    );
    const parts = fc.array(piece, { maxLength: 8 }).map((found) => found.join(''));
    const text = fc.oneof(
      parts,
      parts.map((rest) => `https://${rest}`),
      parts.map((rest) => `https://a.com${rest}`),
      fc.webUrl(),
    );
    fc.assert(
      fc.property(text, (url) => {
        const found = destinationOf(url, { allowHttp: true });
        if ('reason' in found) {
          expect(REFUSAL_REASONS).to.include(found.reason);
          return;
        }
        expect(`${found.url.username}${found.url.password}`).to.equal('');
        const again = read(found.url.href, true);
        expect([again.host, again.port, again.refusedOutside]).to.deep.equal([
          found.host,
          found.port,
          found.refusedOutside,
        ]);
        // A simple parser finds the host at the same place.
        const simple = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1] ?? '';
        expect(simple).not.to.match(/[@\\\s%]/);
      }),
      { numRuns: 2_000 },
    );
  });
});
