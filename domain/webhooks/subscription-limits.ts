import { DomainError } from '../core/errors.ts';
import type { Plan } from '../tenancy/tenant.ts';

/** Limits of webhook subscriptions per tenant (specification, Limits; decisions, section 8). */

/** Maximum of active subscriptions; null: unlimited. */
const CAPS: Readonly<Record<Plan, number | null>> = {
  free: 0,
  hobby: 1,
  pro: 5,
  business: 25,
  enterprise: null,
};

/** Maximum of all subscriptions of a tenant, including paused ones; bounds a command's work and a snapshot's size. */
export const MAX_SUBSCRIPTIONS = 1_000;

interface Limited {
  readonly state: 'active' | 'paused';
}

export const planRequired = (): DomainError =>
  new DomainError('plan_required', 'Webhooks are part of the paid plans.');

/** @throws `plan_required`, `subscription_limit_reached` */
export const checkActive = (all: readonly Limited[], plan: Plan): void => {
  const limit = CAPS[plan];
  if (limit === null) return;
  if (limit === 0) throw planRequired();
  const active = all.filter(({ state }) => state === 'active').length;
  if (active < limit) return;
  throw new DomainError('subscription_limit_reached', 'The plan does not allow more active subscriptions.', {
    limit,
    active,
  });
};

/** @throws `subscription_limit_reached` */
export const checkTotal = (all: readonly Limited[]): void => {
  if (all.length < MAX_SUBSCRIPTIONS) return;
  const active = all.filter(({ state }) => state === 'active').length;
  throw new DomainError(
    'subscription_limit_reached',
    `A tenant can have at most ${MAX_SUBSCRIPTIONS} subscriptions, paused ones included.`,
    { limit: MAX_SUBSCRIPTIONS, active },
  );
};
