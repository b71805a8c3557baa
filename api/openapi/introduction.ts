/** The prose of the document: the introduction and a description of each tag. */

export const INTRODUCTION = `
A workflow and data platform for many tenants: records and jobs, forms, messages, bulk operations, webhooks, a ledger,
partner billing, and an assistant. Every tenant sees only its own data.

## Getting started

The first start of a server in development creates a demo tenant and prints the e-mails and passwords of its admin, Ada,
and its operator, Ben.

\`\`\`sh
curl -s http://127.0.0.1:3000/auth/login -H 'content-type: application/json' \\
  -d '{"email": "ada@demo.example", "password": "…"}'
curl -s http://127.0.0.1:3000/api/v1/tenant/me -H "authorization: Bearer $TOKEN"
\`\`\`

## Sign in

Send \`Authorization: Bearer …\`. A person's token comes from \`POST /auth/login\` and lasts 24 hours. For a program, mint
an API token with the scopes that it needs. Platform admins and partners have their own tokens, which do not work at the
paths of tenants. The tenant is always that of the token: no path and no body names it.

## Errors

Every 4xx and 5xx is \`{error, message, details?}\`. Branch on \`error\`, which is stable; \`message\` may be reworded. A
resource of another tenant is 404, like one that does not exist. Checks come in this order: credential (401), rights
(403, 402), the form of the request (413, 415, 400), existence (404), state (409), business rules (422).

## Ids and times

An id is a lower-case UUID; names of tenants, partners, entities, workflows and slugs are chosen by you. Times are UTC with
milliseconds, \`2026-11-02T09:00:00.000Z\`; days are \`2026-11-02\`. Money is an integer of minor units beside a currency.

## Pages

A list is an array. \`limit\` sets its length, and \`Link: <…>; rel="next"\` points to the next page; the last
page has no such link.

## Idempotency

Send \`Idempotency-Key\` with a POST, PUT or PATCH, and retry with the same key when no answer arrives: the request has
one effect, and the retry gets the first answer, with \`Idempotency-Replayed: true\`. Keys are kept for 24 hours.

## Positions

A write answers with \`X-Event-Position\`, its position in the event log. Reads of the same client see the write
at once. Send the position as \`X-Min-Position\` with a read by another client or at another node that must see the write.

## Limits

A credential has 600 requests a minute, a fifth of them at once; a tenant has several times that. Beyond it the answer is
429 with \`Retry-After\`. A body is at most 1 MiB, unless stated otherwise.

## Versions

The version of the interface is in the path, \`/api/v1\`. Within it, answers may get new keys and enums of answers new
values, so ignore what you do not know. Error codes and the meaning of existing keys and values do not change.

## Events

Webhooks are under *Webhooks* below. The WebSocket at \`/api/v1/ws\` carries messages and notifications; it and the webhooks
are described for programs in \`/asyncapi.json\`, and for people at \`/docs/events\`.
`.trim();

const TAGS: Readonly<Record<string, string>> = {
  Authentication: 'Sign-in of people, platform admins and partners.',
  Users: 'The people of a tenant.',
  'API tokens': 'Long-lived tokens for programs, and test tokens of an hour.',
  Platform: 'For platform admins: tenants, partners, impersonation and read models.',
  'Partner portal': 'The session of a partner.',
  'Partner billing': 'Rate card, statements, reconciliation and frozen invoices of a partner’s customers.',
  Audit: 'Events and their actors, and the signed proof that nothing was changed afterwards.',
  Extensions: 'Programs that an admin installs in a tenant, with scopes.',
  Messaging: 'Direct messages between people of a tenant, with unread counts and mentions.',
  Notifications: 'Notifications of a person: mentions in messages and notes.',
  Entities: 'The kinds of records that a tenant defines, with their fields.',
  Records: 'The records of an entity.',
  Notes: 'Notes on records.',
  Files: 'Files attached to records.',
  Workflows: 'State machines: states, transitions and guards, in versions.',
  Jobs: 'The state and history of records in their workflows.',
  'Public links': 'Links to a job for people without an account.',
  Forms: 'Forms that anybody can fill in without an account; each submission creates a record.',
  'Public forms': 'Published forms, without a sign-in.',
  'Bulk operations': 'One operation on many records: preview, then commit or cancel.',
  Ledger: 'Double-entry bookkeeping: accounts, entries, posting rules and reports.',
  Webhooks: 'Signed calls to your URL when an event happens.',
  Assistant: 'Questions about the tenant’s records and files, answered with sources.',
  Operations: 'Health, metrics and this document.',
};

/** The tags with their descriptions; a test requires a description for each tag. */
export const describedTags = (names: readonly string[]): { name: string; description?: string }[] =>
  names.map((name) => {
    const description = TAGS[name];
    return { name, ...(description === undefined ? {} : { description }) };
  });
