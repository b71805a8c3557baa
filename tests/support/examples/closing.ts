import { Upload } from '../../simulation/network.ts';
import type { Known, Step } from './walk.ts';

/** A host that answers 500, so that deliveries to it end as dead letters. */
export const FAILING_HOST = 'down.workshop.example';
export const ROOT = { email: 'root@platform.example', password: 'correct horse battery' };
/** The least number of rows whose commit runs in the background. */
const ROWS_IN_BACKGROUND = 1_000;

const NDJSON = { accept: 'application/x-ndjson' };
const window = { from: '2026-03-01', to: '2026-04-01' };

/**
 * The end of the story: files, exports, refused rows, failures and their repair, and what is deleted.
 * @param assertion makes a signed assertion of the partner's portal
 */
export const closing = (known: Known, assertion: () => string): readonly (() => Step)[] => {
  const record = () => ({ name: 'repair', id: known('createRecord', 'id') });
  const job = () => ({ id: known('createRecord', 'id') });
  const file = () => ({ id: known('uploadFile', 'id') });
  const webhook = () => ({ id: known('createWebhook', 'id') });
  const session = () => ({ id: known('previewBulkOperation', 'id') });
  const part = { name: 'part' };
  const draft = {
    ...{ date: '2026-03-02', memo: 'A draft' },
    lines: [
      { account_code: '1200', debit: 900 },
      { account_code: '4000', credit: 900 },
    ],
  };
  return [
    () => ({ operation: 'platformLogin', as: 'nobody', body: ROOT }),
    () => ({ operation: 'exchangePartnerAssertion', as: 'nobody', body: { assertion: assertion() } }),
    () => ({
      operation: 'resetPassword',
      as: 'nobody',
      body: {
        link: known('offerPasswordReset', 'url').split('#')[1],
        new_password: 'quiet lamp in the hall',
      },
    }),
    () => ({
      operation: 'uploadFile',
      path: record(),
      body: new Upload('seal.txt', 'The seal is worn.'),
    }),
    () => ({ operation: 'listFiles', path: record() }),
    () => ({ operation: 'getFile', path: file() }),
    () => ({ operation: 'downloadFile', path: file() }),
    () => ({ operation: 'downloadFile', path: file(), headers: { range: 'bytes=4-7' } }),
    () => ({ operation: 'deleteFile', path: file() }),
    () => ({
      operation: 'validateLink',
      as: 'nobody',
      path: { token: known('createLink', 'token') },
    }),
    () => ({ operation: 'revokeLink', path: { ...job(), link_id: known('createLink', 'id') } }),
    () => ({
      operation: 'previewBulkOperation',
      body: {
        ...{ entity_name: 'repair', operation: 'transition' },
        selection: { kind: 'ids', ids: [record().id] },
        op_params: { kind: 'transition', event_name: 'finish' },
      },
    }),
    () => ({ operation: 'getBulkErrors', path: session() }),
    () => ({
      operation: 'defineEntity',
      body: { name: 'part', label: 'Part', fields: [{ key: 'stock', label: 'Stock', type: 'integer' }] },
      isSkipped: true,
    }),
    () => ({
      operation: 'createRecord',
      path: part,
      body: { values: { stock: 1 } },
      times: ROWS_IN_BACKGROUND,
    }),
    () => ({
      operation: 'previewBulkOperation',
      body: {
        ...{
          entity_name: 'part',
          operation: 'delete',
          selection: { kind: 'filter', filter_expr: 'stock == 1' },
        },
        op_params: { kind: 'delete' },
      },
      settles: true,
    }),
    () => ({ operation: 'commitBulkSession', path: session() }),
    () => ({ operation: 'listPostingRuleSources' }),
    // Deactivates the rule's account, so that the next posting fails; a later step activates it again.
    () => ({
      operation: 'changeAccount',
      path: { code: '1200' },
      body: { active: false },
      isSkipped: true,
    }),
    () => ({ operation: 'transitionJob', path: job(), body: { event_name: 'begin' }, isSkipped: true }),
    () => ({ operation: 'transitionJob', path: job(), body: { event_name: 'finish' }, isSkipped: true }),
    () => ({ operation: 'listPostingFailures', settles: true }),
    () => ({
      operation: 'changeAccount',
      path: { code: '1200' },
      body: { active: true },
      isSkipped: true,
    }),
    () => ({ operation: 'retryPostingFailure', path: { id: known('listPostingFailures', '0.id') } }),
    () => ({ operation: 'createEntry', body: draft, isSkipped: true }),
    () => ({ operation: 'exportEntries', settles: true }),
    () => ({ operation: 'exportTrialBalance' }),
    () => ({ operation: 'exportJournal' }),
    () => ({ operation: 'discardEntry', path: { id: known('createEntry', 'id') } }),
    () => ({
      operation: 'createWebhook',
      body: { url: `https://${FAILING_HOST}/platform`, events: ['entity.updated'] },
      isSkipped: true,
    }),
    () => ({ operation: 'changeRecord', path: record(), body: { values: { amount: 6_000 } } }),
    // The five attempts of the delivery take longer than one pause of `settles`.
    () => ({ operation: 'readWebhook', path: webhook(), settles: true, isSkipped: true }),
    () => ({
      ...{ operation: 'listWebhookDeliveries', path: webhook(), query: { status: 'dead' } },
      ...{ settles: true, isSkipped: true },
    }),
    () => ({ operation: 'replayWebhookDeadLetters', path: webhook() }),
    () => ({
      operation: 'replayWebhookDelivery',
      path: { delivery_id: known('listWebhookDeliveries', '0.id') },
    }),
    () => ({ operation: 'deleteWebhook', path: webhook() }),
    () => ({ operation: 'exportStatements', as: 'partner', query: window }),
    () => ({ operation: 'exportReconciliation', as: 'partner', query: window }),
    () => ({
      ...{ operation: 'changeInvoice', as: 'partner', path: { id: known('generateInvoice', 'id') } },
      ...{ body: {}, status: 409 },
    }),
    () => ({
      ...{ operation: 'listAuditEvents', headers: NDJSON },
      query: { stream: `workshop.record-${record().id}` },
    }),
    () => ({ operation: 'uninstallExtension', path: { id: 'labels' } }),
    () => ({ operation: 'deleteForm', path: { id: known('createForm', 'id') } }),
    () => ({ operation: 'deleteRecord', path: record() }),
    () => ({ operation: 'forgetUser', path: { id: known('createUser', 'id') } }),
    () => ({ operation: 'listProjections', as: 'platform' }),
    () => ({ operation: 'rebuildProjection', as: 'platform', path: { name: 'notifications' } }),
    () => ({
      ...{ operation: 'retryProjection', as: 'platform', path: { name: 'conversations' } },
      body: { tenant: 'workshop' },
    }),
    () => ({ operation: 'version', as: 'nobody' }),
    () => ({ operation: 'healthLive', as: 'nobody' }),
    () => ({ operation: 'healthReady', as: 'nobody' }),
  ];
};
