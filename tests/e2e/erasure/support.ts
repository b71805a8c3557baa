import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { wrappedPersonKey } from '../../support/files.ts';
import { user } from '../../support/shapes.ts';
import { tenantToken } from '../../support/tokens.ts';
import { type Member, type TestTenant, USERS, type World } from '../../support/world.ts';

/** Helpers to create people and to forget them. */

export const PASSWORD = 'a-password-of-the-tests';

/** The public form of every forgotten person. */
export const GONE = { email: '[erased]', display_name: '[erased]', status: 'deactivated' } as const;

export const mark = (what: string): string => `${what}${randomBytes(12).toString('hex')}`;

export interface Known extends Member {
  /** Name, e-mail and wrapped data key, which must not be found after the erasure. */
  readonly traces: Readonly<Record<string, string | Buffer>>;
  /** Idempotency key of the request that created the person. */
  readonly idempotencyKey: string;
}

const made = z.object({ id: z.string() });

/** Creates a person with a unique name and e-mail, under an idempotency key. */
export const known = async (
  world: World,
  tenant: TestTenant,
  role: 'admin' | 'operator' = 'operator',
): Promise<Known> => {
  const [name, email] = [mark('Forgetname'), `${mark('forgetmail')}@people.example`];
  const body = { email, display_name: name, role, password: PASSWORD };
  const idempotencyKey = mark('made-');
  const headers = { 'idempotency-key': idempotencyKey };
  const answer = await tenant.admin.api.post(USERS, body, { headers });
  const { id } = made.parse(answer.json);
  // Signing in would take four times as long as everything else.
  const token = tenantToken({ tenantId: tenant.id, id, email, role });
  const key = wrappedPersonKey(world.server.dataDir, tenant.id, id);
  if (key === undefined) throw new Error('the person has no key');
  return {
    tenantId: tenant.id,
    id,
    email,
    role,
    name,
    token,
    api: world.anybody.with(token),
    traces: { name, email, key },
    idempotencyKey,
  };
};

export const forget = (by: Member, person: { readonly id: string }) =>
  by.api.post(`${USERS}/${person.id}/forget`);

export const forgotten = async (by: Member, person: { readonly id: string }) =>
  (await forget(by, person)).as(user, 202);
