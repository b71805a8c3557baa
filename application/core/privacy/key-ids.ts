import type { Owner } from '../../../domain/core/event.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';

/** Ids of data keys, in the form `<tenant>/<kind>-<id>`. */

const KINDS: Readonly<Record<Owner['kind'], string>> = {
  person: 'person',
  first_admin: 'first-admin',
  message: 'message',
  webhook: 'webhook',
  sso: 'sso',
};

/** Id of the data key that seals a personal field of an event with this `data`. */
export const ownerKeyId = (
  tenantId: string,
  { kind, id, key }: Owner,
  data: Readonly<Record<string, unknown>>,
): string => {
  const named = key === undefined ? undefined : data[key];
  return `${tenantId}/${named ?? `${KINDS[kind]}-${data[id]}`}`;
};

/** Id of the data key of a person's name, e-mail and password hash. */
export const personKeyId = (tenantId: string, userId: string): string => `${tenantId}/person-${userId}`;

/** Id of the data key of the first admin's data in the tenant's first event. */
export const firstAdminKeyId = (tenantId: string): string => `${PLATFORM}/first-admin-${tenantId}`;

/** Id of the data key of a webhook subscription's secrets. */
export const webhookKeyId = (tenantId: string, subscriptionId: string): string =>
  `${tenantId}/webhook-${subscriptionId}`;

/** Name of a message's data key within the tenant; events older than key pages have no `text_key`. */
export const textKeyOf = (data: { message_id: string; text_key?: string | undefined }): string =>
  data.text_key ?? `message-${data.message_id}`;
