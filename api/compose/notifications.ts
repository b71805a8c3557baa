import { Notifications } from '../../application/notifications/notifications.ts';
import { notificationRoutes } from '../routes/notifications/notifications.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** A person's notifications. */
export const composeNotifications = (core: Core): Area => {
  const notifications = new Notifications({ ...core, end: () => core.events.end() });
  return { routes: notificationRoutes({ ...core, notifications }) };
};
