import type { z } from 'zod';
import { createDocument } from 'zod-openapi';
import {
  DELIVERY_HEADERS,
  messageEnvelope,
  notificationEnvelope,
  OPTIONAL_DELIVERY_HEADERS,
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
      'The first envelope of a connection. Its position is `after` if that was given, otherwise the end of the log.',
    schema: readyEnvelope,
  },
  {
    name: 'message',
    title: 'Message',
    summary: 'A new message, sent to the sockets of all participants, including the sender.',
    schema: messageEnvelope,
  },
  {
    name: 'notification',
    title: 'Notification',
    summary: 'A new notification, sent to the sockets of its recipient.',
    schema: notificationEnvelope,
  },
  {
    name: 'resync',
    title: 'Resync',
    summary:
      'More envelopes were missed than the server sends again: read conversations and notifications again over REST.',
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
Connect with a person's token in \`?token=\`, the header \`Authorization\`, or the subprotocols \`bearer, <token>\`. No
subscription is needed: the server sends all events that concern the person. Ignore a \`kind\` that you do not know.

The first envelope is \`ready\`. Keep the \`position\` of the last envelope. After a disconnect, connect again with
\`?after=<position>\`: the server first sends the missed envelopes, each once. If more than 1,000 were missed, it sends
\`resync\` instead.

The server pings every 25 seconds and drops a client that does not answer two of them. Frames from the client
up to 64 KiB are ignored. A refused handshake is answered with 400, 401, 403, 429 or 503 and the error as JSON.

| close code | meaning | what to do |
|---|---|---|
| 1009 | a frame of the client was larger than 64 KiB | send none |
| 1012 | the server restarts | connect again with \`?after=\` |
| 4401 | the token has expired | sign in, then connect again with \`?after=\` |
| 4403 | the person or the tenant may no longer connect | stop |
| 4413 | the client left more than 1 MiB unread, or read nothing for 8 seconds | connect again with \`?after=\`, read faster |
`.trim();

const WEBHOOK_DESCRIPTION = `
A signed HTTPS POST, sent at least once to the URL of each active subscription to the event. First check the signature
over the raw body, and remember the \`id\`s that you have handled. Any 2xx within 10 seconds is success.
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
    Object.entries({ ...DELIVERY_HEADERS, ...OPTIONAL_DELIVERY_HEADERS }).map(([name, description]) => [
      name,
      { type: 'string', description },
    ]),
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
    description:
      'Events that the server sends without a request. The REST interface is described in `/openapi.json`.',
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
              token: { type: 'string', description: 'The token, for clients that cannot set a header.' },
              after: {
                type: 'string',
                description: 'The position of the last envelope that the client received.',
              },
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
