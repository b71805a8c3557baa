import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { DELIVERY_HEADERS, OPTIONAL_DELIVERY_HEADERS, WEBHOOK_SCHEMAS } from './event-schemas.ts';
import type { Examples } from './examples.ts';
import { header } from './parameters.ts';

/** The section `webhooks` of the document: what a subscribed URL receives. */

const DESCRIPTION =
  'Sent at least once to the URL of every active subscription to this event. First check the signature ' +
  'over the raw body, and remember the `id`s that you have handled. Any 2xx within 10 seconds is success; ' +
  'otherwise the same bytes are sent again after 1, 5, 30 and 120 minutes.';

const headersOf = (descriptions: Readonly<Record<string, string>>, isRequired: boolean) =>
  Object.entries(descriptions).map(([name, description]) => header(name, description, isRequired));
const headers = [...headersOf(DELIVERY_HEADERS, true), ...headersOf(OPTIONAL_DELIVERY_HEADERS, false)];

export const webhookItems = (events: Examples['events']): ZodOpenApiPathsObject =>
  Object.fromEntries(
    WEBHOOK_SCHEMAS.map(({ event, name, summary, schema }) => {
      const example = events[event];
      const content = { 'application/json': { schema, ...(example === undefined ? {} : { example }) } };
      return [
        event,
        {
          post: {
            operationId: `receive${name}`,
            summary,
            description: DESCRIPTION,
            tags: ['Webhooks'],
            security: [],
            parameters: headers,
            requestBody: { required: true, content },
            responses: {
              '2XX': { description: 'The delivery is done; the body is ignored.' },
              '4XX': { description: 'A failure, like every other status: the delivery is retried.' },
            },
          },
        },
      ];
    }),
  );
