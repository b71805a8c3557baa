import { z } from 'zod';

/** The shapes of the specification; strict, to detect additional keys. */

const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
export const uuid = z.string().regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);

const participant = z.strictObject({
  user_id: z.string(),
  display_name: z.string(),
  last_read_at: instant.nullable(),
});

export const conversation = z.strictObject({
  id: uuid,
  dm_key: z.string().regex(/^[0-9a-f]{64}$/),
  participants: z.array(participant),
  created_at: instant,
});

export const listedConversation = conversation.extend({
  unread_count: z.int().nonnegative(),
  last_message_at: instant.nullable(),
});
export const conversations = z.array(listedConversation);

export const liveMessage = z.strictObject({
  id: uuid,
  sender_user_id: z.string(),
  body: z.string(),
  created_at: instant,
  edited_at: instant.nullable(),
  deleted_at: z.null(),
});
/** Strict, so a `body` is refused. */
export const deletedMessage = liveMessage.omit({ body: true }).extend({ deleted_at: instant });
export const message = z.union([liveMessage, deletedMessage]);
export const messages = z.array(message);
export type Message = z.output<typeof message>;

export const notification = z.strictObject({
  id: uuid,
  kind: z.enum(['message_mention', 'note_mention']),
  actor_email: z.string(),
  subject_kind: z.enum(['conversation', 'entity']),
  subject_id: z.string(),
  note_id: z.string(),
  snippet: z.string(),
  read_at: instant.nullable(),
  created_at: instant,
});
export const notifications = z.array(notification);
export const unreadCount = z.strictObject({ unread: z.int().nonnegative() });
export const marked = z.strictObject({ marked: z.int().nonnegative() });

export const user = z.strictObject({
  id: z.string(),
  email: z.string(),
  display_name: z.string(),
  role: z.enum(['admin', 'operator']),
  status: z.enum(['active', 'deactivated']),
  created_at: instant,
});
export const users = z.array(user);

export const tenant = z.strictObject({
  id: z.string(),
  name: z.string(),
  plan: z.enum(['free', 'hobby', 'pro', 'business', 'enterprise']),
  partner_id: z.string().nullable(),
  entitlements: z.strictObject({ ledger: z.boolean(), assistant: z.boolean() }),
  currency: z.string(),
  timezone: z.string(),
  status: z.enum(['active', 'suspended']),
  created_at: instant,
  sso: z
    .strictObject({ issuer: z.string(), client_id: z.string(), return_origins: z.array(z.string()) })
    .nullable(),
});

export const changedTenant = tenant.extend({
  admin: user
    .extend({ changes: z.array(z.enum(['created', 'promoted', 'reactivated', 'renamed', 'password_set'])) })
    .optional(),
});

export const login = z.strictObject({
  token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.literal(86_400),
  user: z.strictObject({
    id: z.string(),
    email: z.string(),
    display_name: z.string(),
    role: z.enum(['admin', 'operator']),
    tenant_id: z.string(),
  }),
});

export const errorWithDetails = z.object({
  error: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
});
export const validationFailed = z.object({
  error: z.literal('validation_failed'),
  details: z.object({
    field: z.string(),
    issues: z.array(z.object({ path: z.string(), code: z.string(), message: z.string() })).min(1),
  }),
});
