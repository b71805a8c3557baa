import type { EventDefinition } from './event.ts';
import { emailEvents } from './identity/email.ts';
import { platformAdminEvents } from './identity/platform-admin.ts';
import { userEvents } from './identity/user.ts';
import { conversationEvents } from './messaging/conversation.ts';
import { inboxEvents } from './notifications/inbox.ts';
import { operationsEvents } from './operations/operations.ts';
import { tenantEvents } from './tenancy/tenant.ts';

/** Every event type the product stores. The codec knows these and no others. */
export const catalogue: readonly EventDefinition[] = [
  ...tenantEvents,
  ...platformAdminEvents,
  ...emailEvents,
  ...userEvents,
  ...conversationEvents,
  ...inboxEvents,
  ...operationsEvents,
];
