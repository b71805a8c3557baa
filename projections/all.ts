import type { Projection } from '../domain/projection.ts';
import { conversationsProjection } from './conversations.ts';
import { notificationsProjection } from './notifications.ts';
import { tenantsProjection } from './tenants.ts';
import { loginsProjection, usersProjection } from './users.ts';

/** Every read model of the product. */
export const projections: readonly Projection[] = [
  tenantsProjection,
  loginsProjection,
  usersProjection,
  conversationsProjection,
  notificationsProjection,
];
