import { DomainError } from '../core/errors.ts';
import type { Plan } from '../tenancy/tenant.ts';

/** Limits of webhook subscriptions per tenant (specification, Limits; decisions, section 8). */

/** Maximum of active subscriptions. */
const CAPS: Readonly<Record<Plan, number>> = {
  free: 0,
  hobby: 1,
  pro: 5,
  business: 25,
  enterprise: Number.POSITIVE_INFINITY,
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
  if (limit === 0) throw planRequired();
  const active = activeIn(all);
  if (active < limit) return;
  throw limitReached('The plan does not allow more active subscriptions.', { limit, active });
};

/** @throws `subscription_limit_reached` */
export const checkTotal = (all: readonly Limited[]): void => {
  if (all.length < MAX_SUBSCRIPTIONS) return;
  const message = `A tenant can have at most ${MAX_SUBSCRIPTIONS} subscriptions, paused ones included.`;
  throw limitReached(message, { limit: MAX_SUBSCRIPTIONS, active: activeIn(all) });
};

const activeIn = (all: readonly Limited[]): number => all.filter(({ state }) => state === 'active').length;

const limitReached = (message: string, details: { limit: number; active: number }): DomainError =>
  new DomainError('subscription_limit_reached', message, details);
