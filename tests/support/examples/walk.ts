import type { Caller } from './callers.ts';

/** One request of the story that the examples of the OpenAPI document tell. Later requests may use its answer. */
export interface Step {
  readonly operation: string;
  /** The caller; default `ada`, an admin of the tenant. */
  readonly as?: Caller | 'nobody';
  /** Values of the path's parameters. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Expected status of a refusal; without it, a success is expected. */
  readonly status?: number;
  /** The request is not an example, but later requests need its effect or answer. */
  readonly isSkipped?: true;
  /** Sends the request this often, not as an example, and keeps no answer. */
  readonly times?: number;
  /** Waits until background work has settled before the request. */
  readonly settles?: true;
}

/** Gives the value at a dotted path of an earlier answer, by operation; the last answer of that operation counts. */
export type Known = (operation: string, path: string) => string;

const fields = [
  { key: 'title', label: 'Title', type: 'text', required: true, max_length: 200 },
  { key: 'amount', label: 'Amount', type: 'integer', required: false, min: 0 },
  { key: 'due', label: 'Due', type: 'date', required: false },
];
const flow = {
  initial: 'reported',
  states: [
    { key: 'reported', label: 'Reported' },
    { key: 'in_repair', label: 'In repair' },
    { key: 'done', label: 'Done', final: true },
  ],
  transitions: [
    { event_name: 'begin', from: 'reported', to: 'in_repair' },
    {
      event_name: 'finish',
      from: 'in_repair',
      to: 'done',
      guard: 'record.amount >= 0',
      guard_label: 'Priced',
    },
  ],
};
const window = { from: '2026-03-01T00:00:00.000Z', to: '2026-04-01T00:00:00.000Z' };
const lines = [
  { account_code: '1200', debit: 12_500 },
  { account_code: '4000', credit: 12_500 },
];
const rule = {
  name: 'Finished repairs',
  source_kind: 'job.transition',
  when: "payload.to_state == 'done'",
  mode: 'draft',
  lines: [
    { account_code: '1200', side: 'debit', amount: { fixed: 4_900 } },
    { account_code: '4000', side: 'credit', amount: { remainder: true } },
  ],
};
const hook = { url: 'https://hooks.workshop.example/platform', events: ['entity.created', 'job.transition'] };

/** A repair shop: people, records with a workflow, messages, bulk edits, the ledger, forms, webhooks, a partner. */
export const walk = (known: Known): readonly (() => Step)[] => {
  const record = () => ({ name: 'repair', id: known('createRecord', 'id') });
  const room = () => ({ id: known('startConversation', 'id') });
  const message = () => ({ ...room(), mid: known('sendMessage', 'id') });
  const entry = () => ({ id: known('createEntry', 'id') });
  const webhook = () => ({ id: known('createWebhook', 'id') });
  const session = () => ({ id: known('previewBulkOperation', 'id') });
  const form = () => ({ id: known('createForm', 'id') });
  const posting = () => ({ id: known('createPostingRule', 'id') });
  const apiToken = () => ({ id: known('mintApiToken', 'id') });
  const cleo = () => ({ id: known('createUser', 'id') });
  const invoice = () => ({ id: known('generateInvoice', 'id') });
  const selection = () => ({ kind: 'ids', ids: [known('createRecord', 'id')] });
  const edit = { kind: 'edit', fields: [{ field_key: 'amount', new_value: 5_200 }] };
  const preview = () => ({
    entity_name: 'repair',
    operation: 'edit',
    selection: selection(),
    op_params: edit,
  });
  return [
    () => ({ operation: 'createPartner', as: 'platform', body: { id: 'north', name: 'North Hosting' } }),
    () => ({ operation: 'listPartners', as: 'platform' }),
    () => ({ operation: 'getPartner', as: 'platform', path: { id: 'north' } }),
    () => ({ operation: 'changePartner', as: 'platform', path: { id: 'north' }, body: { name: 'North' } }),
    () => ({
      operation: 'createTenant',
      as: 'platform',
      body: {
        ...{ id: 'workshop', name: 'The Workshop', plan: 'business', partner_id: 'north' },
        ...{ currency: 'EUR', timezone: 'Europe/Vienna', entitlements: { ledger: true } },
      },
    }),
    () => ({ operation: 'listTenants', as: 'platform' }),
    () => ({ operation: 'getTenant', as: 'platform', path: { id: 'workshop' } }),
    () => ({
      operation: 'changeTenant',
      as: 'platform',
      path: { id: 'workshop' },
      body: { name: 'Workshop' },
    }),
    () => ({ operation: 'me' }),
    () => ({ operation: 'me', as: 'ben' }),
    () => ({
      operation: 'createUser',
      body: {
        ...{ email: 'cleo@workshop.example', display_name: 'Cleo', role: 'operator' },
        password: 'correct horse battery',
      },
    }),
    () => ({ operation: 'listUsers', query: { limit: '2' } }),
    () => ({ operation: 'getUser', path: cleo() }),
    () => ({ operation: 'changeUser', path: cleo(), body: { display_name: 'Cleo K.' } }),
    () => ({
      operation: 'login',
      as: 'nobody',
      body: { email: 'cleo@workshop.example', password: 'correct horse battery', tenant: 'workshop' },
    }),
    () => ({
      operation: 'changeOwnPassword',
      as: 'cleo',
      body: { current_password: 'correct horse battery', new_password: 'staple and battery' },
    }),
    () => ({
      operation: 'impersonate',
      as: 'platform',
      path: { tenant_id: 'workshop' },
      body: { user_id: 'ada', reason: 'Ticket 4711: a list stays empty.' },
    }),
    () => ({ operation: 'offerPasswordReset', path: cleo() }),
    () => ({ operation: 'createWorkflow', body: { name: 'repairs', ...flow } }),
    () => ({ operation: 'saveWorkflowDraft', path: { name: 'repairs' }, body: flow }),
    () => ({ operation: 'publishWorkflow', path: { name: 'repairs' } }),
    () => ({ operation: 'listWorkflows' }),
    () => ({ operation: 'getWorkflow', path: { name: 'repairs' } }),
    () => ({
      operation: 'defineEntity',
      body: { name: 'repair', label: 'Repair', fields, workflow: 'repairs' },
    }),
    () => ({ operation: 'listEntities' }),
    () => ({ operation: 'getEntity', path: { name: 'repair' } }),
    () => ({ operation: 'changeEntity', path: { name: 'repair' }, body: { label: 'Repairs' } }),
    () => ({ operation: 'createWebhook', body: hook }),
    () => ({ operation: 'listWebhooks' }),
    () => ({ operation: 'readWebhook', path: webhook() }),
    () => ({
      operation: 'changeWebhook',
      path: webhook(),
      body: { events: '*' },
    }),
    () => ({ operation: 'testWebhook', path: webhook() }),
    () => ({
      operation: 'createRecord',
      path: { name: 'repair' },
      body: { values: { title: 'Pump 4 leaks', amount: 4_900, due: '2026-03-09' } },
    }),
    () => ({
      operation: 'listRecords',
      path: { name: 'repair' },
      query: { filter: 'amount > 1000', sort: '-due' },
    }),
    () => ({ operation: 'getRecord', path: record() }),
    () => ({ operation: 'changeRecord', path: record(), body: { values: { amount: 5_100 } } }),
    () => ({
      operation: 'addNote',
      path: record(),
      body: { body: 'The seal is worn; a new one is ordered.' },
    }),
    () => ({ operation: 'listNotes', path: record() }),
    () => ({ operation: 'listFiles', path: record() }),
    () => ({ operation: 'listJobs' }),
    () => ({ operation: 'getJob', path: { id: record().id } }),
    () => ({
      operation: 'transitionJob',
      path: { id: record().id },
      body: { event_name: 'begin', expected_state: 'reported' },
    }),
    () => ({
      operation: 'overrideJob',
      path: { id: record().id },
      body: { to_state: 'reported', reason: 'Begun on the wrong pump.' },
    }),
    () => ({ operation: 'createLink', path: { id: record().id }, body: { page_slug: 'state-of-repair' } }),
    () => ({ operation: 'listLinks', path: { id: record().id } }),
    () => ({ operation: 'startConversation', body: { participant_user_ids: ['ben'] } }),
    () => ({ operation: 'startConversation', body: { participant_user_ids: ['ben'] } }),
    () => ({
      operation: 'sendMessage',
      path: room(),
      body: { body: 'Can you look at pump 4, @[Ben](user:ben)?' },
    }),
    () => ({ operation: 'listConversations' }),
    () => ({ operation: 'getConversation', path: room() }),
    () => ({ operation: 'listMessages', path: room() }),
    () => ({ operation: 'editMessage', path: message(), body: { body: 'Can you look at pump 4 today?' } }),
    () => ({ operation: 'listNotifications', as: 'ben', settles: true }),
    () => ({ operation: 'countUnreadNotifications', as: 'ben' }),
    () => ({ operation: 'markNotificationsRead', as: 'ben', body: { all: true } }),
    () => ({ operation: 'markConversationRead', as: 'ben', path: room() }),
    () => ({ operation: 'deleteMessage', path: message() }),
    () => ({ operation: 'previewBulkOperation', body: preview() }),
    () => ({ operation: 'listBulkSessions' }),
    () => ({ operation: 'commitBulkSession', path: session() }),
    () => ({ operation: 'getBulkSession', path: session(), settles: true }),
    () => ({ operation: 'previewBulkOperation', body: preview() }),
    () => ({ operation: 'cancelBulkSession', path: session() }),
    () => ({ operation: 'createAccount', body: { code: '1200', name: 'Receivables', type: 'Asset' } }),
    () => ({ operation: 'createAccount', body: { code: '4000', name: 'Repairs', type: 'Revenue' } }),
    () => ({ operation: 'listAccounts' }),
    () => ({ operation: 'getAccount', path: { code: '4000' } }),
    () => ({ operation: 'changeAccount', path: { code: '4000' }, body: { name: 'Revenue of repairs' } }),
    () => ({ operation: 'createEntry', body: { date: '2026-03-02', memo: 'Invoice 17', lines } }),
    () => ({ operation: 'changeEntry', path: entry(), body: { memo: 'Invoice 17, pump 4' } }),
    () => ({ operation: 'postEntry', path: entry() }),
    () => ({ operation: 'getEntry', path: entry() }),
    () => ({ operation: 'listEntries' }),
    () => ({ operation: 'reverseEntry', path: entry(), body: { memo: 'Invoiced twice' } }),
    () => ({ operation: 'trialBalance', settles: true }),
    () => ({ operation: 'profitAndLoss', query: { from: '2026-01-01', to: '2026-12-31' } }),
    () => ({ operation: 'balanceSheet', query: { as_of: '2026-12-31' } }),
    () => ({ operation: 'createPostingRule', body: rule }),
    () => ({ operation: 'listPostingRules' }),
    () => ({ operation: 'getPostingRule', path: posting() }),
    () => ({ operation: 'changePostingRule', path: posting(), body: { name: 'Repairs that are done' } }),
    () => ({ operation: 'previewPostingRule', path: posting(), body: { payload: { to_state: 'done' } } }),
    () => ({ operation: 'listPostingFailures' }),
    () => ({ operation: 'lockBooks', body: { locked_through: '2025-12-31' } }),
    () => ({ operation: 'getBooksLock' }),
    () => ({
      operation: 'createForm',
      body: {
        ...{ slug: 'report-a-fault', title: 'Report a fault', entity_name: 'repair' },
        fields: [{ field_key: 'title', label: 'What is wrong?', required: true }],
      },
    }),
    () => ({ operation: 'changeForm', path: form(), body: { title: 'Report a broken pump' } }),
    () => ({ operation: 'publishForm', path: form() }),
    () => ({ operation: 'listForms' }),
    () => ({ operation: 'getForm', path: form() }),
    () => ({
      operation: 'getPublicForm',
      as: 'nobody',
      path: { tenant: 'workshop', slug: 'report-a-fault' },
    }),
    () => ({
      operation: 'submitForm',
      as: 'nobody',
      path: { tenant: 'workshop', slug: 'report-a-fault' },
      body: { values: { title: 'Pump 2 is loud' }, submission_id: 'kiosk-1-0001' },
    }),
    () => ({ operation: 'archiveForm', path: form() }),
    () => ({
      operation: 'mintApiToken',
      body: { name: 'Nightly import', scopes: ['data:read', 'data:write'] },
    }),
    () => ({ operation: 'listApiTokens' }),
    () => ({ operation: 'getApiToken', path: apiToken() }),
    () => ({ operation: 'revokeApiToken', path: apiToken() }),
    () => ({ operation: 'mintTestToken' }),
    () => ({
      operation: 'installExtension',
      body: { ext_id: 'labels', name: 'Labels', version: '1.0.0', scopes: ['data:read'] },
    }),
    () => ({ operation: 'listExtensions' }),
    () => ({ operation: 'activateExtension', path: { id: 'labels' } }),
    () => ({ operation: 'mintExtensionToken', path: { id: 'labels' } }),
    () => ({ operation: 'deactivateExtension', path: { id: 'labels' } }),
    () => ({
      operation: 'listWebhookDeliveries',
      path: webhook(),
      query: { event: 'entity.created' },
      settles: true,
    }),
    () => ({
      operation: 'readWebhookDelivery',
      path: { delivery_id: known('listWebhookDeliveries', '0.id') },
    }),
    () => ({ operation: 'rotateWebhookSecret', path: webhook() }),
    () => ({ operation: 'listEventLog', query: { limit: '2' } }),
    () => ({ operation: 'listAuditEvents', query: { limit: '2' } }),
    () => ({ operation: 'readStreamState', path: { stream: `workshop.record-${record().id}` } }),
    () => ({ operation: 'getPartnerSession', as: 'partner' }),
    () => ({
      operation: 'replaceBillingProfile',
      as: 'partner',
      body: {
        item_name_template: '{{meter}} {{period}}',
        item_description: '{{quantity}} for {{customer}}',
      },
    }),
    () => ({ operation: 'getBillingProfile', as: 'partner' }),
    () => ({
      operation: 'replaceRateCard',
      as: 'partner',
      body: {
        currency: 'EUR',
        rates: { jobs_started: { wholesale: '20', retail: '35', included: 0 } },
      },
    }),
    () => ({ operation: 'getRateCard', as: 'partner' }),
    () => ({ operation: 'listStatements', as: 'partner', query: window, settles: true }),
    () => ({
      operation: 'getReconciliation',
      as: 'partner',
      query: { ...window, scope: 'customer' },
    }),
    () => ({
      operation: 'listUsage',
      as: 'partner',
      path: { customer_id: 'workshop' },
      query: { ...window, meter: 'jobs_started' },
    }),
    () => ({ operation: 'generateInvoice', as: 'partner', body: { customer_id: 'workshop', ...window } }),
    () => ({ operation: 'listInvoices', as: 'partner' }),
    () => ({ operation: 'getInvoice', as: 'partner', path: invoice() }),
    () => ({ operation: 'voidInvoice', as: 'partner', path: invoice() }),
    () => ({ operation: 'generateInvoice', as: 'partner', body: { customer_id: 'workshop', ...window } }),
    () => ({ operation: 'generateInvoice', as: 'partner', body: { customer_id: 'workshop', ...window } }),
    () => ({ operation: 'issueInvoice', as: 'partner', path: invoice() }),
    () => ({ operation: 'issueInvoice', as: 'partner', path: invoice(), settles: true }),
  ];
};
