import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { expect } from 'chai';
import { z } from 'zod';
import type { TokenFamily } from '../../../application/ports/tokens.ts';
import { tokenFamily } from '../../../infrastructure/identity/tokens.ts';
import { testClock } from '../../support/fakes.ts';
import { refusal } from '../../support/given.ts';
import { rawToken, signed } from '../../support/tokens.ts';

const OLD = 'the-old-secret-0123456789-0123456789';
const NEW = 'the-new-secret-0123456789-0123456789';
const OTHER = 'somebody-else-0123456789-0123456789';
const schema = z.object({ sub: z.string() });
const HOUR = 3600;

describe('A family of tokens', () => {
  const clock = testClock();
  const seconds = (): number => Math.floor(clock.now() / 1000);
  const family = (...secrets: [string, ...string[]]) => tokenFamily(secrets, schema, () => HOUR, clock);
  const minted = (key: string, own: object = {}): string =>
    signed({ sub: 'ann', iat: seconds(), exp: seconds() + HOUR, ...own }, key);
  const refused = (tokens: TokenFamily<{ sub: string }>, token: string): string =>
    refusal(() => tokens.verify(token)).code;

  it('signs with the current secret only', () => {
    const token = family(NEW, OLD).sign({ sub: 'ann' }, HOUR);
    expect(family(NEW).verify(token)).to.deep.equal({ sub: 'ann', iat: seconds(), exp: seconds() + HOUR });
    expect(refused(family(OLD), token)).to.equal('invalid_credential');
  });

  it('accepts a previous secret’s tokens while it is configured', () => {
    const token = family(OLD).sign({ sub: 'ann' }, HOUR);
    expect(family(NEW, OLD).verify(token)).to.include({ sub: 'ann' });
    expect(refused(family(NEW), token)).to.equal('invalid_credential');
    expect(refused(family(NEW, OLD), minted(OTHER))).to.equal('invalid_credential');
    expect(refused(family(NEW, OLD), minted(''))).to.equal('invalid_credential');
  });

  it('has the same rules for the current and the previous secret', () => {
    const tokens = family(NEW, OLD);
    for (const key of [NEW, OLD]) {
      const expired = minted(key, { iat: seconds() - HOUR, exp: seconds() });
      expect(refused(tokens, expired)).to.equal('credential_expired');
      for (const own of [
        { exp: undefined },
        { iat: undefined },
        { sub: 7 },
        { exp: seconds() + HOUR + 61 },
        { iat: seconds() + 61, exp: seconds() + 70 },
        { exp: seconds() - 1 },
      ]) {
        expect(refused(tokens, minted(key, own)), JSON.stringify(own)).to.equal('invalid_credential');
      }
      const twice = `{"sub":"ann","sub":"bob","iat":${seconds()},"exp":${seconds() + 60}}`;
      expect(refused(tokens, rawToken({ alg: 'HS256' }, twice, key))).to.equal('invalid_credential');
      for (const header of [
        { alg: 'none' },
        { alg: 'HS512' },
        { alg: 'HS256', crit: ['x'], x: 1 },
        { alg: 'HS256', b64: false },
      ]) {
        const payload = { sub: 'ann', iat: seconds(), exp: seconds() + 60 };
        expect(refused(tokens, rawToken(header, payload, key))).to.equal('invalid_credential');
      }
      const good = minted(key);
      for (const twin of [
        `${good}=`,
        good.slice(0, -1),
        `${good}.x`,
        good.split('.').slice(0, 2).join('.'),
      ]) {
        expect(refused(tokens, twin)).to.equal('invalid_credential');
      }
      expect(tokens.verify(good)).to.include({ sub: 'ann' });
    }
  });

  it('expires cached tokens', () => {
    const own = testClock();
    const tokens = tokenFamily([NEW, OLD], schema, () => HOUR, own);
    const at = Math.floor(own.now() / 1000);
    const all = [NEW, OLD].map((key) => signed({ sub: 'ann', iat: at, exp: at + HOUR }, key));
    for (const token of all) expect(tokens.verify(token)).to.include({ sub: 'ann' });
    own.advance(HOUR * 1000);
    for (const token of all) expect(refused(tokens, token)).to.equal('credential_expired');
  });

  it('computes two HMACs for a forged signature, and none for a cached token', () => {
    const tokens = family(NEW, OLD);
    const known = minted(OLD);
    tokens.verify(known);
    const forged = minted(OTHER);
    const { createHmac } = crypto;
    let made = 0;
    crypto.createHmac = (...args: Parameters<typeof createHmac>) => {
      made += 1;
      return createHmac(...args);
    };
    syncBuiltinESMExports();
    try {
      expect(refused(tokens, forged)).to.equal('invalid_credential');
      expect(made).to.equal(2);
      tokens.verify(known);
      expect(made).to.equal(2);
    } finally {
      crypto.createHmac = createHmac;
      syncBuiltinESMExports();
    }
  });
});
