import { expect } from 'chai';
import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import {
  tenantTokenClaims,
  tenantTokenLifetime,
} from '../../../application/identity/authentication-claims.ts';
import { Identity } from '../../../application/identity/identity.ts';
import { PasswordChanges } from '../../../application/identity/password-changes.ts';
import { registerUser, userStream } from '../../../domain/identity/user.ts';
import { tokenFamily } from '../../../infrastructure/identity/tokens.ts';
import { causeOf, keyedContext as keyed } from '../../support/book.ts';
import { refusalCode } from '../../support/eventually.ts';
import { testClock } from '../../support/fakes.ts';
import { memoryStores, startNode } from '../../support/node.ts';

/** Ann, whose password is `first`. */
const withAnn = async () => {
  const clock = testClock(Date.UTC(2026, 0, 2, 12));
  const node = startNode({ ...memoryStores(), clock });
  const passwords = {
    hash: async (password: string) => `hash of ${password}`,
    verify: async (hash: string | undefined, password: string) => hash === `hash of ${password}`,
  };
  await node.streams.of(userStream, 'acme', 'ann').execute({ cause: causeOf('ann') }, (state) =>
    registerUser(state, {
      ...{ userId: 'ann', email: 'sealed', displayName: 'sealed', role: 'admin' },
      ...{ passwordHash: 'hash of first', origin: 'admin' },
    }),
  );
  const changes = new PasswordChanges({
    ...{ ...node, passwords, clock, secrets: { randomText: () => 'unused' } },
    identity: new Identity({ ...node, passwords, emailHash: (email) => email }),
    tenantTokens: tokenFamily(['k'.repeat(40)], tenantTokenClaims, tenantTokenLifetime, clock),
  });
  return (current: string, next: string, context: RequestContext) =>
    changes.change('acme', 'ann', { current, next }, context);
};

describe('A change of password', () => {
  it('gives a session again to a keyed request whose first try landed without an answer', async () => {
    const change = await withAnn();
    const first = await change('first', 'second', keyed('a change'));
    const again = await change('first', 'second', keyed('a change'));
    expect(again.position).to.deep.equal(first.position);
    expect(again.token).to.equal(first.token);
  });

  it('is refused for a wrong current password, keyed or not', async () => {
    const change = await withAnn();
    const unkeyed: RequestContext = { ...keyed('without a key'), priorAttempt: undefined };
    expect(await refusalCode(change('guess', 'second', unkeyed))).to.equal('constraint_violated');
    expect(await refusalCode(change('guess', 'second', keyed('a guess')))).to.equal('constraint_violated');
    await change('first', 'second', keyed('the right one'));
    expect(await refusalCode(change('first', 'third', keyed('another key')))).to.equal('constraint_violated');
  });
});
