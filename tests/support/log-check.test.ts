import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { leaksIn } from './log-check.ts';
import { OF_CHILDREN } from './server.ts';
import { tenantToken } from './tokens.ts';

/** A start on a busy machine may take longer than the usual timeout of a test. */
const MOCHA = ['node_modules/mocha/bin/mocha.js', '--timeout', '60000'];

const token = tenantToken({ tenantId: 'acme', id: 'u1', email: 'a@acme.example', role: 'admin' });
const line = (field: unknown): string => `${JSON.stringify({ level: 'info', field, msg: 'a line' })}\n`;
const leaks = (text: string, ...known: string[]) => leaksIn([{ test: 'the test', text }], known);

describe('The search of the servers’ logs', () => {
  for (const [what, where, text] of [
    ['a JWT', 'as a field', line(token)],
    ['a JWT', 'that is spoilt', line(`${token.slice(0, -1)}x`)],
    ['a JWT', 'without its signature', line(token.split('.').slice(0, 2).join('.'))],
    ['a JWT', 'in a query', line(`GET /api/v1/ws?token=${token} failed`)],
    ['an API token', 'as a field', line(`svc_pat_${'a'.repeat(51)}`)],
    ['an API token', 'cut off, deep inside', line({ deep: { text: `x svc_pat_${'a'.repeat(40)}` } })],
    ['a webhook secret', 'as a field', line(`whsec_${'a'.repeat(43)}`)],
    ['the token of a public link', 'in its path', line(`GET /public/validate/${'Ab-_'.repeat(10)}abc`)],
    ['a bearer', 'in a header', line({ headers: { authorization: 'Bearer something-opaque' } })],
  ] as const) {
    it(`finds ${what} ${where}`, () => {
      const seen = leaks(`${line('before')}${text}${line('after')}`);
      expect(seen[0]).to.include({ what, test: 'the test' });
      expect(JSON.stringify(seen)).not.to.contain(token);
    });
  }

  it('finds known secrets, also escaped, and shows the line without them', () => {
    for (const secret of ['the first password', 'a "quoted" one', 'größer/than ever']) {
      for (const text of [line(secret), `x=${encodeURIComponent(secret)}\n`, `${secret}\n`]) {
        const [leak] = leaks(text, secret);
        expect(leak?.what, text).to.equal('a secret of the tests');
        expect(leak?.line).to.contain('<a secret of the tests>').and.not.to.contain(secret);
      }
    }
  });

  it('names the test that ran when the line was written, also for a line written in two pieces', () => {
    const [one, two] = [token.slice(0, 30), token.slice(30)];
    const pieces = [
      { test: 'first', text: line('good') },
      { test: 'second', text: `bad: ${one}` },
      { test: 'third', text: `${two}\n` },
    ];
    expect(leaksIn(pieces, []).map(({ test }) => test)).to.deep.equal(['second']);
  });

  it('ignores patterns of routes, prefixes, ids, cursors, and the demo’s sign-ins', () => {
    const text = [
      line('/public/validate/:token'),
      line('svc_pat_abcdefgh'),
      line('01900000-0000-7000-8000-000000000000'),
      line(Buffer.from('{"after":"x-y-z"}').toString('base64url')),
      line('a bearer is required'),
      '  platform admin  root@platform.example   kVq1k2n3b4v5c6x7\n  demo admin      ada@demo.example        kVq1k2n3b4v5c6x7\n',
    ].join('');
    expect(leaks(text, 'kVq1k2n3b4v5c6x7')).to.deep.equal([]);
    // The same password outside the demo's sign-ins is a leak.
    expect(leaks(text + line('kVq1k2n3b4v5c6x7'), 'kVq1k2n3b4v5c6x7')).to.have.length(1);
  });

  it('fails a run in which a server writes a secret, and names the test', () => {
    const run = (planted: string) =>
      spawnSync(process.execPath, [...MOCHA, 'tests/support/planted-leak.ts'], {
        env: { ...OF_CHILDREN, TEST_BUNDLE: process.env.TEST_BUNDLE, PLANTED: planted },
        encoding: 'utf8',
      });
    const bad = run(token);
    expect(bad.status, bad.stdout).to.equal(1);
    expect(bad.stdout).to.contain(
      'a JWT in a log of tests/support/planted-leak.ts › A server that logs a given text',
    );
    expect(bad.stdout).not.to.contain(token);
    expect(run('an-api-key-of-old').stdout).to.contain('a secret of the tests in a log of');
    const good = run('nothing');
    expect(good.status, good.stdout).to.equal(0);
    expect(good.stdout).to.contain('1 passing');
  }).timeout(180_000);
});
