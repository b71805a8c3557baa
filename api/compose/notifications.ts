import { Notifications } from '../../application/notifications/notifications.ts';
import { notificationRoutes } from '../routes/notifications/notifications.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** A person's notifications. */
export const composeNotifications = (core: Core) => {
  const notifications = new Notifications({ ...core, end: () => core.events.end() });
  return {
    notifications,
    routes: notificationRoutes({ ...core, notifications }),
  } satisfies Area & Record<string, unknown>;
};
