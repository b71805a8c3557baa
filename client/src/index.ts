export type { components, operations, paths } from './api.ts';
export { type Call, type Client, type ClientOptions, createClient, type TokenSource } from './client.ts';
export { ApiError } from './errors.ts';
export type { RetryOptions } from './retry.ts';
export type {
  Envelope,
  MessageEnvelope,
  NotificationEnvelope,
  Socket,
  SocketOptions,
  SocketState,
} from './socket.ts';
export {
  type VerifyOptions,
  verifyWebhook,
  WebhookError,
  type WebhookEvent,
  type WebhookHeaders,
} from './webhook.ts';
