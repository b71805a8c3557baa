import { expect } from 'chai';
import fc from 'fast-check';
import { SsoTransactions, TRANSACTION_MS } from '../../../application/identity/sso-transactions.ts';

const transaction = {
  tenantId: 'acme',
  revision: 3,
  nonce: 'nonce',
  codeVerifier: 'verifier',
  redirectUri: 'https://platform.example/auth/sso/callback',
  returnTo: 'https://app.example/',
};

describe('a started sign-in', () => {
  let now = 1_000_000;
  const clock = { now: () => now };
  const transactions = new SsoTransactions('a master key', clock);

  it('is opened with its state for exactly ten minutes', () => {
    const sealed = transactions.seal('state', transaction);
    const began = now;
    expect(transactions.open('state', sealed)).to.deep.equal({
      ...transaction,
      expiresAt: began + TRANSACTION_MS,
    });
    now = began + TRANSACTION_MS - 1;
    expect(transactions.open('state', sealed)).not.to.equal(undefined);
    now = began + TRANSACTION_MS;
    expect(transactions.open('state', sealed)).to.equal(undefined);
  });

  it('is not opened with another state, another key or a changed bit', () => {
    const sealed = transactions.seal('state', transaction);
    expect(transactions.open('another', sealed)).to.equal(undefined);
    expect(new SsoTransactions('another key', clock).open('state', sealed)).to.equal(undefined);
    const bits = Buffer.from(sealed, 'base64url').length * 8;
    fc.assert(
      fc.property(fc.nat(bits - 1), (bit) => {
        const bytes = Buffer.from(sealed, 'base64url');
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(transactions.open('state', bytes.toString('base64url'))).to.equal(undefined);
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => transactions.open('state', text) === undefined));
  });

  it('is not opened when another version of the product made it with other members', () => {
    const other = { ...transaction, toJSON: () => ({ tenantId: 'acme', expiresAt: now + 1000 }) };
    expect(transactions.open('state', transactions.seal('state', other))).to.equal(undefined);
  });

  it('is sealed differently each time', () => {
    expect(transactions.seal('state', transaction)).not.to.equal(transactions.seal('state', transaction));
  });
});
