import { expect } from 'chai';
import { tokenParts } from '../../domain/identity/api-token.ts';
import { base62, randomTokenSecrets } from '../../infrastructure/identity/token-secrets.ts';

describe('The secrets of API tokens', () => {
  it('use each character equally often: biased bytes are discarded', () => {
    // Every byte once; 248 of them are used, four for each of 62 characters.
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const text = base62(248, () => all);
    const counts = new Map<string, number>();
    for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
    expect(counts.size).to.equal(62);
    expect(new Set(counts.values())).to.deep.equal(new Set([4]));
  });

  it('request bytes until there are enough characters', () => {
    const asked: number[] = [];
    const given = [[255, 10, 248], [251, 61], [35]];
    const text = base62(3, (count) => {
      asked.push(count);
      return Uint8Array.from(given.shift() ?? []);
    });
    expect(text).to.equal('AzZ');
    expect(asked).to.deep.equal([3, 2, 1]);
  });

  it('have the lengths of the specification and differ', () => {
    const tokens = Array.from(
      { length: 200 },
      () => `svc_pat_${randomTokenSecrets.prefix()}${randomTokenSecrets.randomText()}`,
    );
    for (const token of tokens) expect(tokenParts(token), token).not.to.equal(undefined);
    expect(new Set(tokens.map((token) => token.slice(0, 16))).size).to.equal(200);
    expect(new Set(tokens.map((token) => token.slice(16))).size).to.equal(200);
  });
});
