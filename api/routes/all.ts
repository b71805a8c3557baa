import type { Route } from '../http/route.ts';
import type { App } from './app.ts';
import { authRoutes } from './auth.ts';
import { messagingRoutes } from './messaging.ts';
import { notificationRoutes } from './notifications.ts';
import { projectionRoutes, tenantRoutes } from './platform.ts';
import { userRoutes } from './users.ts';

/** Every route of the product, beside those of each server (health, metrics, document). */
export const routesOf = (app: App): Route[] => [
  ...authRoutes(app),
  ...tenantRoutes(app),
  ...projectionRoutes(app),
  ...userRoutes(app),
  ...messagingRoutes(app),
  ...notificationRoutes(app),
];
