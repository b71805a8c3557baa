import { expect } from 'chai';
import { z } from 'zod';
import { EXAMPLES } from '../../../api/openapi/examples.ts';
import { recordExamples } from '../../support/examples/record.ts';
import { endWorld, sharedWorld } from '../../support/world.ts';

/** Operations without an example: pages, files, probes, and those that need a portal, a provider, a model or a single-use link. */
const WITHOUT: ReadonlySet<string> = new Set([
  ...['platformLogin', 'startSso', 'finishSso', 'passwordResetPage', 'resetPassword'],
  ...[
    'exchangePartnerAssertion',
    'exportStatements',
    'exportReconciliation',
    'printInvoice',
    'changeInvoice',
  ],
  ...['getAuditProof', 'uploadFile', 'getFile', 'deleteFile', 'downloadFile', 'validateLink', 'revokeLink'],
  ...['uninstallExtension', 'deleteRecord', 'deleteForm', 'deleteWebhook', 'discardEntry', 'getBulkErrors'],
  ...['retryPostingFailure', 'exportEntries', 'exportTrialBalance', 'exportJournal'],
  ...['replayWebhookDeadLetters', 'replayWebhookDelivery', 'askAssistant', 'backfillCorpus'],
  ...['retryProjection', 'rebuildProjection', 'version', 'metrics', 'openApiDocument', 'asyncApiDocument'],
  ...['docs', 'docsFile'],
  // Spectral takes the types that it lists for schemas.
  'listPostingRuleSources',
]);

const document = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string().optional() }))),
});

describe('The examples of the OpenAPI document', () => {
  let openapi: unknown;
  before(async () => {
    openapi = (await (await sharedWorld()).anybody.get('/openapi.json')).json;
  });
  after(endWorld);

  it('are requests as they were sent, and the answers to them; `npm run openapi:examples` records them', async () => {
    const recorded = await recordExamples(openapi);
    expect(Object.keys(recorded)).to.have.members(Object.keys(EXAMPLES.operations));
    for (const [operation, example] of Object.entries(recorded)) {
      expect(example, operation).to.deep.equal(EXAMPLES.operations[operation]);
    }
  }).timeout(60_000);

  it('are there for every operation but the listed ones', () => {
    const operations = Object.values(document.parse(openapi).paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ operationId }) => operationId ?? []),
    );
    const missing = operations.filter((id) => EXAMPLES.operations[id] === undefined);
    expect(new Set(missing)).to.deep.equal(WITHOUT);
  });
});
