import type { RequestContext } from '../../application/core/commands/request-context.ts';
import { registerUser, userStream } from '../../domain/identity/user.ts';
import { causeOf } from '../support/book.ts';
import type { TestNode } from '../support/node.ts';

/** Registers Ann, Bob and Eve as operators of acme; their ids are their names. */
export const settle = async (node: TestNode): Promise<void> => {
  for (const id of ['ann', 'bob', 'eve']) {
    const user = {
      userId: id,
      email: `${id}@example.com`,
      displayName: id,
      role: 'operator',
      origin: 'admin',
    } as const;
    await node.commands.execute({
      tenantId: 'acme',
      type: userStream,
      id,
      cause: causeOf(id),
      decide: (state) => registerUser(state, user),
    });
  }
};

/** A new request without an idempotency key. */
export const contextOf = (node: TestNode): RequestContext => ({
  cause: causeOf(node.ids.next()),
  priorAttempt: undefined,
  newId: () => node.ids.next(),
});
