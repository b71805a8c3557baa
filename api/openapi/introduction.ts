/** The prose of the document: the introduction and a description of each tag. */

export const INTRODUCTION = `
A workflow and data platform for many tenants: records and jobs, forms, messages, bulk operations, webhooks, a ledger,
partner billing, and an assistant. Every tenant sees its own data only.

## Begin

The first start of a server in development makes a demo tenant and prints the sign-ins of its admin, Ada, and its
operator, Ben.

\`\`\`sh
curl -s http://127.0.0.1:3000/auth/login -H 'content-type: application/json' \\
  -d '{"email": "ada@demo.example", "password": "…"}'
curl -s http://127.0.0.1:3000/api/v1/tenant/me -H "authorization: Bearer $TOKEN"
\`\`\`

## Sign in

Send \`Authorization: Bearer …\`. A person's token comes from \`POST /auth/login\` and lasts 24 hours. For a program, mint
an API token with the scopes that it needs. Platform admins and partners have tokens of their own, which open no tenant.
The tenant is always that of the token: no path and no body names it.

## Errors

Every 4xx and 5xx is \`{error, message, details?}\`. Branch on \`error\`, which is stable; \`message\` may be reworded. What
belongs to another tenant is 404, like what does not exist. Checks come in this order: credential (401), rights
(403, 402), the form of the request (413, 415, 400), existence (404), state (409), business rules (422).

## Ids and times

An id is a lower-case UUID; names of tenants, partners, entities, workflows and slugs are chosen by you. Times are UTC with
milliseconds, \`2026-11-02T09:00:00.000Z\`; days are \`2026-11-02\`. Money is an integer of minor units beside a currency.

## Pages

A list is an array. \`limit\` sets its length, and \`Link: <…>; rel="next"\` leads to the next page as long as there is one.

## Idempotency

Send \`Idempotency-Key\` with a POST, PUT or PATCH, and repeat the request with the same key when no answer came: it has one
effect, and the answer is the first one, with \`Idempotency-Replayed: true\`. Keys are kept for 24 hours.

## Positions

A write answers with \`X-Event-Position\`, its place in the event log. Reads of the same client see the write at once. Send
the position as \`X-Min-Position\` with a read by somebody else, or at another node, that must see it.

## Limits

A credential has 600 requests a minute, a fifth of them at once; a tenant has several times that. Beyond it the answer is
429 with \`Retry-After\`. A body is at most 1 MiB, if nothing else is said.

## Versions

The version of the interface is in the path, \`/api/v1\`. Within it, answers may get new keys and enums of answers new
values, so ignore what you do not know. Error codes and the meaning of what exists stay.

## Events

Webhooks are under *Webhooks* below. The WebSocket at \`/api/v1/ws\` carries messages and notifications; it and the webhooks
are described for programs in \`/asyncapi.json\`, and for people at \`/docs/events\`.
`.trim();

const TAGS: Readonly<Record<string, string>> = {
  Authentication: 'Sign in: people, platform admins and partners.',
  Users: 'The people of a tenant.',
  'API tokens': 'Long-lived tokens for programs, and test tokens of an hour.',
  Platform: 'For platform admins: tenants, partners, impersonation and read models.',
  'Partner portal': 'The session of a partner.',
  'Partner billing': 'Rate card, statements, reconciliation and frozen invoices of a partner’s customers.',
  Audit: 'What happened, who did it, and the proof that nothing was changed afterwards.',
  Extensions: 'Programs that an admin installs in a tenant, with scopes.',
  Messaging: 'Direct messages between people of a tenant, with unread counts and mentions.',
  Notifications: 'What a person should look at: mentions in messages and notes.',
  Entities: 'The kinds of records that a tenant defines, with their fields.',
  Records: 'The records of an entity.',
  Notes: 'Notes on records.',
  Files: 'Files attached to records.',
  Workflows: 'State machines: states, transitions and guards, in versions.',
  Jobs: 'Where a record stands in its workflow.',
  'Public links': 'Links to a job for people without an account.',
  Forms: 'Forms that anybody can fill in to create a record.',
  'Public forms': 'A published form, without a sign-in.',
  'Bulk operations': 'One operation on many records: preview, then commit or cancel.',
  Ledger: 'Double-entry bookkeeping: accounts, entries, posting rules and reports.',
  Webhooks: 'Signed calls to a URL of yours when something happens.',
  Assistant: 'Questions about the tenant’s records and files, answered with sources.',
  Operations: 'Health, metrics and this document.',
};

/** The tags with their descriptions; a test requires a description for each tag. */
export const describedTags = (names: readonly string[]): { name: string; description?: string }[] =>
  names.map((name) => {
    const description = TAGS[name];
    return { name, ...(description === undefined ? {} : { description }) };
  });
