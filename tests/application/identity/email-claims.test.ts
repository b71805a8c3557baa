import { expect } from 'chai';
import { emailClaimer } from '../../../application/identity/email-claims.ts';
import { emailStream, reserveEmail } from '../../../domain/identity/email.ts';
import { registerUser, userStream } from '../../../domain/identity/user.ts';
import { startNode } from '../../support/node.ts';

const cause = { actor: { kind: 'system' as const, id: 'test' }, correlationId: 'c', causationId: 'c' };
const emailHash = (email: string): string => `hash-of-${email}`;
const hash = emailHash('ann@example.com');

/** A node whose process crashed after registering a user, before the claim. */
const interrupted = async (origin: 'admin' | 'sso' = 'admin') => {
  const node = startNode();
  const email = { tenantId: 'acme', type: emailStream, id: hash, cause };
  await node.commands.execute({
    ...email,
    decide: (state, context) => reserveEmail(state, { email_hash: hash, user_id: 'ann' }, context),
  });
  await node.commands.execute({
    tenantId: 'acme',
    type: userStream,
    id: 'ann',
    cause,
    decide: (state) =>
      registerUser(state, {
        userId: 'ann',
        email: 'ann@example.com',
        displayName: 'Ann',
        role: 'operator',
        origin,
      }),
  });
  const claimer = emailClaimer({ streams: node.streams, keys: node.keys, emailHash });
  const handleAll = async () => {
    for (const stored of await node.events.readAll({ filter: { types: claimer.types } })) {
      await claimer.handle(node.codec.decode(stored));
    }
  };
  const holder = async () => (await node.states.load('acme', emailStream, hash)).state;
  return { node, handleAll, holder };
};

describe('The e-mail claimer', () => {
  it('completes an interrupted registration once', async () => {
    const { node, handleAll, holder } = await interrupted();
    await handleAll();
    await handleAll();
    expect(await holder()).to.deep.equal({ status: 'claimed', userId: 'ann' });
    expect(await node.events.readStream(`acme.email-${hash}`)).to.have.length(2);
  });

  it('does not claim e-mails of single sign-on accounts, since they may be unverified', async () => {
    const { handleAll, holder } = await interrupted('sso');
    await handleAll();
    expect(await holder()).to.include({ status: 'reserved' });
  });

  it('does not take over an e-mail that another user has claimed', async () => {
    const { node, handleAll, holder } = await interrupted();
    await node.commands.execute({
      tenantId: 'acme',
      type: emailStream,
      id: hash,
      cause,
      decide: () => [{ type: 'EmailClaimed' as const, data: { email_hash: hash, user_id: 'bob' } }],
    });
    await handleAll();
    expect(await holder()).to.deep.equal({ status: 'claimed', userId: 'bob' });
  });
});
