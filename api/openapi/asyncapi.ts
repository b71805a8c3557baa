import type { z } from 'zod';
import { createDocument } from 'zod-openapi';
import {
  DELIVERY_HEADERS,
  messageEnvelope,
  notificationEnvelope,
  readyEnvelope,
  resyncEnvelope,
  WEBHOOK_SCHEMAS,
} from './event-schemas.ts';
import { EXAMPLES } from './examples.ts';
import { INFO } from './info.ts';

/** Builds the AsyncAPI 3 document: what the server sends by itself, over the WebSocket and to webhooks. */

interface Message {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly schema: z.ZodType;
}

const ENVELOPES: readonly Message[] = [
  {
    name: 'ready',
    title: 'Ready',
    summary:
      'The first envelope of a connection. Its position is the one of `after`, else the end of the log.',
    schema: readyEnvelope,
  },
  {
    name: 'message',
    title: 'Message',
    summary: 'A new message, to each participant’s sockets, the sender’s too.',
    schema: messageEnvelope,
  },
  {
    name: 'notification',
    title: 'Notification',
    summary: 'A new notification, to its recipient’s sockets.',
    schema: notificationEnvelope,
  },
  {
    name: 'resync',
    title: 'Resync',
    summary: 'More was missed than is sent again: read conversations and notifications anew.',
    schema: resyncEnvelope,
  },
];

const DELIVERIES: readonly Message[] = WEBHOOK_SCHEMAS.map(({ event, summary, schema }) => ({
  name: event,
  title: event,
  summary: `${summary}.`,
  schema,
}));

const SOCKET_DESCRIPTION = `
Connect with a person's token in \`?token=\`, the header \`Authorization\`, or the subprotocols \`bearer, <token>\`. Nothing is
to be subscribed to: what concerns the person comes. Ignore a \`kind\` that you do not know.

The first envelope is \`ready\`. Keep the \`position\` of the last envelope, and connect again with \`?after=<position>\` after a
cut: what was missed comes first, each envelope once. Above 1,000 missed envelopes \`resync\` comes instead.

The server pings every 25 seconds and drops a peer that misses two. Frames of the client are ignored up to 64 KiB.
A refused handshake is answered with 400, 401, 403 or 429 and the error as JSON.

| close code | meaning | what to do |
|---|---|---|
| 1009 | a frame of the client was larger than 64 KiB | send none |
| 1012 | the server restarts | connect again with \`?after=\` |
| 4401 | the token has expired | sign in, then connect again with \`?after=\` |
| 4403 | the person or the tenant may no longer connect | stop |
| 4413 | the client left more than 1 MiB unread, or read nothing for 8 seconds | connect again with \`?after=\`, read faster |
`.trim();

const WEBHOOK_DESCRIPTION = `
A signed HTTPS POST to the URL of each active subscription that asks for the event, at least once. Check the signature over
the raw body first, and remember the \`id\`s that you have handled. Any 2xx within 10 seconds is success.
`.trim();

/** The component schemas of the messages, as JSON Schema. */
const schemasOf = (messages: readonly Message[]): object => {
  const content = Object.fromEntries(messages.map(({ name, schema }) => [`x/${name}`, { schema }]));
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: { title: '', version: '' },
      paths: { '/': { get: { responses: { 200: { description: '', content } } } } },
    },
    {
      override: ({ jsonSchema }) => {
        if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      },
    },
  );
  return document.components?.schemas ?? {};
};

const headers = {
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(DELIVERY_HEADERS).map(([name, description]) => [name, { type: 'string', description }]),
  ),
};

const componentsOf = (messages: readonly Message[], more: object) =>
  Object.fromEntries(
    messages.map(({ name, title, summary, schema }) => [
      name,
      {
        name,
        title,
        summary,
        contentType: 'application/json',
        payload: { $ref: `#/components/schemas/${schema.meta()?.id}` },
        examples: name in EXAMPLES.events ? [{ payload: EXAMPLES.events[name] }] : undefined,
        ...more,
      },
    ]),
  );

const refs = (messages: readonly Message[], at: string) =>
  messages.map(({ name }) => ({ $ref: `${at}/${name}` }));

const channelMessages = (messages: readonly Message[]) =>
  Object.fromEntries(messages.map(({ name }) => [name, { $ref: `#/components/messages/${name}` }]));

export const asyncApiDocument = () => ({
  asyncapi: '3.1.0',
  info: {
    ...INFO,
    title: 'Workflow platform: events',
    description: 'What the server sends by itself. The REST interface is described in `/openapi.json`.',
    license: { name: 'Apache 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    tags: [{ name: 'Messaging' }, { name: 'Webhooks' }],
  },
  defaultContentType: 'application/json',
  servers: {
    socket: {
      host: 'localhost:3000',
      protocol: 'ws',
      description: 'The server that serves this document, in development; elsewhere `wss` and its own name.',
      security: [{ $ref: '#/components/securitySchemes/tenantJwt' }],
    },
  },
  channels: {
    socket: {
      address: '/api/v1/ws',
      title: 'WebSocket',
      description: SOCKET_DESCRIPTION,
      servers: [{ $ref: '#/servers/socket' }],
      messages: channelMessages(ENVELOPES),
      bindings: {
        ws: {
          method: 'GET',
          query: {
            type: 'object',
            properties: {
              token: { type: 'string', description: 'The token, where no header can be set.' },
              after: { type: 'string', description: 'The position of the last envelope that was seen.' },
            },
          },
        },
      },
    },
    webhooks: {
      address: null,
      title: 'Webhooks',
      description: WEBHOOK_DESCRIPTION,
      messages: channelMessages(DELIVERIES),
    },
  },
  operations: {
    sendEnvelope: {
      action: 'send',
      title: 'Envelopes',
      summary: 'The server sends messages and notifications to connected people.',
      channel: { $ref: '#/channels/socket' },
      messages: refs(ENVELOPES, '#/channels/socket/messages'),
    },
    deliverWebhook: {
      action: 'send',
      title: 'Deliveries',
      summary: 'The server posts events to subscribed URLs.',
      channel: { $ref: '#/channels/webhooks' },
      bindings: { http: { method: 'POST' } },
      messages: refs(DELIVERIES, '#/channels/webhooks/messages'),
    },
  },
  components: {
    messages: { ...componentsOf(ENVELOPES, {}), ...componentsOf(DELIVERIES, { headers }) },
    schemas: schemasOf([...ENVELOPES, ...DELIVERIES]),
    securitySchemes: {
      tenantJwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A person’s token.' },
    },
  },
});

export type AsyncApiDocument = ReturnType<typeof asyncApiDocument>;
