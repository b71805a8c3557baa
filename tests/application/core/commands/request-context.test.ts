import { expect } from 'chai';
import type { Principal } from '../../../../application/core/commands/principal.ts';
import { requestContext, uuidFromName } from '../../../../application/core/commands/request-context.ts';
import { uuidV7Ids } from '../../../../infrastructure/identity/ids.ts';
import { testClock } from '../../../support/fakes.ts';

const ann: Principal = {
  kind: 'user',
  tenantId: 'acme',
  rights: { plan: 'free', entitlements: { ledger: false, assistant: false } },
  userId: 'ann',
  email: 'ann@example.com',
  role: 'admin',
};
const clock = testClock();
const ids = uuidV7Ids(clock);
const contextOf = (
  key: string | undefined,
  options: { scope?: string; priorAttempt?: { since: number }; requestId?: string; nonce?: string } = {},
) =>
  requestContext(
    {
      principal: ann,
      requestId: options.requestId ?? 'request',
      idempotency:
        key === undefined
          ? undefined
          : {
              scope: options.scope ?? 'acme/user-ann',
              key,
              nonce: options.nonce ?? 'n1',
              priorAttempt: options.priorAttempt ?? { since: 1 },
            },
    },
    ids,
  );
const three = (context: { newId(): string }): string[] => [context.newId(), context.newId(), context.newId()];

describe('the context of a keyed request', () => {
  it('gives the same ids at each try, on every node', () => {
    const [first, second] = [
      contextOf('key'),
      contextOf('key', { priorAttempt: { since: 2 }, requestId: 'another request' }),
    ];
    expect(second.cause.causationId).to.equal(first.cause.causationId);
    const made = three(first);
    expect(three(second)).to.deep.equal(made);
    expect(new Set([...made, first.cause.causationId]).size).to.equal(4);
    for (const id of made)
      expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('gives other ids for another key or another caller', () => {
    const contexts = [
      contextOf('key'),
      contextOf('key2'),
      contextOf('key', { scope: 'acme/user-bob' }),
      contextOf('key', { scope: 'beta/user-ann' }),
      // The same key after its expiry.
      contextOf('key', { nonce: 'n2' }),
    ];
    expect(new Set(contexts.flatMap(three)).size).to.equal(15);
    expect(new Set(contexts.map((context) => context.cause.causationId)).size).to.equal(5);
  });

  it('passes on the bound for the search of an earlier effect', () => {
    expect(contextOf('key', { priorAttempt: { since: 7 } }).priorAttempt).to.deep.equal({ since: 7 });
  });

  it('keeps the request’s id as correlation', () => {
    expect(contextOf('key', { requestId: 'r1' }).cause).to.include({ correlationId: 'r1' });
  });
});

describe('the context of a request without a key', () => {
  it('gives new ids and its own cause', () => {
    const [first, second] = [contextOf(undefined, { requestId: 'r1' }), contextOf(undefined)];
    expect(new Set([...three(first), ...three(second)]).size).to.equal(6);
    expect(first.cause).to.deep.include({
      correlationId: 'r1',
      causationId: 'r1',
      actor: { kind: 'user', id: 'ann' },
    });
    expect(first.priorAttempt).to.equal(undefined);
  });

  it('names the impersonator', () => {
    const principal = { ...ann, impersonatedBy: 'root@example.com' };
    const context = requestContext({ principal, requestId: 'r', idempotency: undefined }, ids);
    expect(context.cause.impersonatedBy).to.equal('root@example.com');
  });
});

describe('ids derived from names', () => {
  it('are the same for the same name and differ for different names', () => {
    expect(uuidFromName('a')).to.equal(uuidFromName('a'));
    expect(uuidFromName('a')).not.to.equal(uuidFromName('b'));
  });
});
